// SPDX-License-Identifier: LGPL-3.0-or-later

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/platforms"
)

const (
	entry = `"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1, "digest": "sha256:000000000000000000000000000000000000000000000000000000000000000`
	index = `{"manifests": [{` + entry + `0", "platform": {"os": "linux", "architecture": "amd64"}},
		{` + entry + `1", "platform": {"os": "linux", "architecture": "amd64", "variant": "x-a"},
		 "annotations": {"dev.ocivariant.label": "a", "dev.ocivariant.properties": "gpu :: arch :: 80"}},
		{` + entry + `2", "platform": {"os": "linux", "architecture": "amd64", "variant": "x-b"},
		 "annotations": {"dev.ocivariant.label": "b", "dev.ocivariant.properties": "gpu :: arch :: 100"}}]}`
	profile = `{"platform": {"os": "linux", "architecture": "amd64"}, "namespaces": [
		{"namespace": "gpu", "features": [{"name": "arch", "values": ["90", "80"]}]}]}`
)

func TestMatchComparer(t *testing.T) {
	directory := t.TempDir()
	files := map[string]string{"index.json": index, "profile.json": profile}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decision, err := resolveFiles(filepath.Join(directory, "index.json"), filepath.Join(directory, "profile.json"))
	if err != nil {
		t.Fatal(err)
	}
	comparer := newMatchComparer(decision)
	plain, fitting, misfit := platforms.MustParse("linux/amd64"), platforms.MustParse("linux/amd64/x-a"),
		platforms.MustParse("linux/amd64/x-b")
	if !comparer.Match(plain) || !comparer.Match(fitting) || comparer.Match(misfit) {
		t.Error("Match")
	}
	if !comparer.Less(fitting, plain) || comparer.Less(plain, fitting) || comparer.Less(misfit, plain) {
		t.Error("Less")
	}
}
