// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// draPlugin stands in for a vendor's driver on a node: it publishes the devices of a file, which need not
// exist, and prepares claims of them: by CDI a container gets the environment variable DRA_REQUEST.
//
//	dra-plugin KUBECONFIG NODE DRIVER KUBELET-DIRECTORY CDI-DIRECTORY DEVICES.json
func draPlugin(arguments []string) error {
	if len(arguments) != 6 {
		return fmt.Errorf("usage: KUBECONFIG NODE DRIVER KUBELET-DIRECTORY CDI-DIRECTORY DEVICES.json")
	}
	kubeconfig, node, driver, root := arguments[0], arguments[1], arguments[2], arguments[3]
	plugin := &standIn{driver: driver, cdi: arguments[4]}
	text, err := os.ReadFile(arguments[5])
	if err != nil {
		return err
	}
	var devices []resource.Device
	if err := json.Unmarshal(text, &devices); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	data := filepath.Join(root, "plugins", driver)
	for _, directory := range []string{data, plugin.cdi} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	helper, err := kubeletplugin.Start(ctx, plugin, kubeletplugin.DriverName(driver), kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client), kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(root, "plugins_registry")))
	if err != nil {
		return err
	}
	defer helper.Stop()
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{{Devices: devices}}}
	if err := helper.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{node: pool}}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

type standIn struct{ driver, cdi string }

func (p *standIn) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	prepared := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		var result kubeletplugin.PrepareResult
		for _, allocated := range claim.Status.Allocation.Devices.Results {
			if allocated.Driver != p.driver {
				continue
			}
			name := string(claim.UID) + "-" + allocated.Device
			if err := p.describe(name, allocated.Request); err != nil {
				result.Err = err
				break
			}
			result.Devices = append(result.Devices, kubeletplugin.Device{Requests: []string{allocated.Request},
				PoolName: allocated.Pool, DeviceName: allocated.Device, CDIDeviceIDs: []string{p.driver + "/device=" + name}})
		}
		prepared[claim.UID] = result
	}
	return prepared, nil
}

// describe writes the file that containerd reads for a device.
func (p *standIn) describe(name, request string) error {
	text, err := json.Marshal(map[string]any{"cdiVersion": "0.6.0", "kind": p.driver + "/device", "devices": []any{map[string]any{
		"name": name, "containerEdits": map[string]any{"env": []string{"DRA_REQUEST=" + request}}}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.cdi, p.driver+"-"+name+".json"), text, 0o644)
}

func (p *standIn) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	unprepared := map[types.UID]error{}
	for _, claim := range claims {
		unprepared[claim.UID] = nil
	}
	return unprepared, nil
}

func (p *standIn) HandleError(_ context.Context, err error, message string) {
	fmt.Fprintln(os.Stderr, "dra-plugin:", message+":", err)
}
