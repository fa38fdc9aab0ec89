// SPDX-License-Identifier: GPL-3.0-or-later

// Package suite runs containerd's own tests of snapshotters against ours, over containerd's client of
// proxy snapshotters. Each test gets a snapshotter and a root of its own.
//
// Build it and say where it is; test/integration/plugins/snapshotter_suite.bats runs it:
//
//	CGO_ENABLED=0 go test -c -o /path/to/suite .
//	export OCV_SNAPSHOTTER_SUITE=/path/to/suite
package suite

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/core/snapshots/proxy"
	"github.com/containerd/containerd/v2/core/snapshots/testsuite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// waitFor waits until the socket takes connections or the process has ended.
func waitFor(socket string, ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the snapshotter ended: %w", err)
		case <-time.After(10 * time.Millisecond):
			if conn, err := net.Dial("unix", socket); err == nil {
				return conn.Close()
			}
		}
	}
}

func start(ctx context.Context, root string) (snapshots.Snapshotter, func() error, error) {
	socket := filepath.Join(root, "s.sock")
	command := exec.Command(os.Getenv("OCV_SNAPSHOTTER"),
		"--root", filepath.Join(root, "state"), "--socket", socket,
		"--config", os.DevNull, "--records", filepath.Join(root, "records"))
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if err := waitFor(socket, ended); err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	stop := func() error {
		conn.Close()
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return <-ended
	}
	return proxy.NewSnapshotter(snapshotsapi.NewSnapshotsClient(conn), "ocivariant"), stop, nil
}

func TestSnapshotter(t *testing.T) {
	if os.Getenv("OCV_SNAPSHOTTER") == "" {
		t.Fatal("OCV_SNAPSHOTTER: the snapshotter to test")
	}
	// by this name the suite knows what no overlay does: renaming a directory of a lower layer
	testsuite.SnapshotterSuite(t, "overlayfs", start)
}
