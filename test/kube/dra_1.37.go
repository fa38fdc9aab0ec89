// SPDX-License-Identifier: GPL-3.0-or-later

//go:build kube1.37

package main

import (
	"context"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// WatchHealthStatus is asked of drivers from Kubernetes 1.37 on.
func (p *standIn) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}
