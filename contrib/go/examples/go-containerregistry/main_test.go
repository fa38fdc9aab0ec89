// SPDX-License-Identifier: LGPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const profile = `{"platform": {"os": "linux", "architecture": "amd64"}, "namespaces": [
	{"namespace": "gpu", "features": [{"name": "arch", "values": ["90", "80"]}]}]}`

// TestPull pulls the build for the GPU, which comes after the default in the index.
func TestPull(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/app:1.0"
	want := push(t, reference)
	directory := t.TempDir()
	file := filepath.Join(directory, "profile.json")
	if err := os.WriteFile(file, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pull(context.Background(), reference, directory, file); err != nil {
		t.Fatal(err)
	}
	path, err := layout.FromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := path.Image(want); err != nil {
		t.Errorf("not pulled: %v", err)
	}
}

// push makes an index of a default and a variant, and returns the digest of the variant.
func push(t *testing.T, reference string) v1.Hash {
	t.Helper()
	tag, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	var images [2]v1.Image
	for i := range images {
		if images[i], err = random.Image(100, 1); err != nil {
			t.Fatal(err)
		}
	}
	linux := v1.Platform{OS: "linux", Architecture: "amd64"}
	hidden := v1.Platform{OS: "linux", Architecture: "amd64", Variant: "x-a"}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: images[0], Descriptor: v1.Descriptor{Platform: &linux}},
		mutate.IndexAddendum{Add: images[1], Descriptor: v1.Descriptor{Platform: &hidden, Annotations: map[string]string{
			"dev.ocivariant.label": "a", "dev.ocivariant.properties": "gpu :: arch :: 80"}}})
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	digest, err := images[1].Digest()
	if err != nil {
		t.Fatal(fmt.Errorf("digest: %w", err))
	}
	return digest
}
