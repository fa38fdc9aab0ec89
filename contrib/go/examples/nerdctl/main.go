// SPDX-License-Identifier: LGPL-3.0-or-later

// Command nerdctl pulls into containerd, as nerdctl does, the entry of an index that ocivariant chooses for this machine:
// by its digest, under the name that was asked for.
//
//	nerdctl [-address SOCKET] [-namespace NAME] [-profile FILE] REFERENCE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/ocivariant/ocivariant/contrib/go/ocivariant"
)

const maxIndex = 4 << 20 // bytes

func main() {
	address := flag.String("address", "/run/containerd/containerd.sock", "containerd's socket")
	namespace := flag.String("namespace", "default", "containerd's namespace")
	profile := flag.String("profile", "", "a profile instead of variantd's")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: nerdctl [-address SOCKET] [-namespace NAME] [-profile FILE] REFERENCE")
		os.Exit(2)
	}
	ctx := namespaces.WithNamespace(context.Background(), *namespace)
	if err := pull(ctx, *address, flag.Arg(0), *profile); err != nil {
		fmt.Fprintln(os.Stderr, "nerdctl:", err)
		os.Exit(1)
	}
}

func pull(ctx context.Context, address, text, profileFile string) error {
	profile, err := readProfile(ctx, profileFile)
	if err != nil {
		return err
	}
	named, err := reference.ParseDockerRef(text)
	if err != nil {
		return err
	}
	hosts := docker.ConfigureDefaultRegistries(docker.WithPlainHTTP(docker.MatchLocalhost))
	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: hosts})
	chosen, err := choose(ctx, resolver, named.String(), profile)
	if err != nil {
		return err
	}
	client, err := containerd.New(address)
	if err != nil {
		return err
	}
	defer client.Close()
	options := []containerd.RemoteOpt{containerd.WithResolver(resolver), containerd.WithPullUnpack}
	image, err := client.Pull(ctx, named.Name()+"@"+chosen, options...)
	if err != nil {
		return err
	}
	fmt.Println(chosen)
	wanted := images.Image{Name: named.String(), Target: image.Target()}
	if _, err = client.ImageService().Create(ctx, wanted); errors.Is(err, errdefs.ErrAlreadyExists) {
		_, err = client.ImageService().Update(ctx, wanted)
	}
	return err
}

// choose returns the digest of the entry for the machine; of what is no index, its own.
func choose(ctx context.Context, resolver remotes.Resolver, name string, profile *ocivariant.Profile) (string, error) {
	name, descriptor, err := resolver.Resolve(ctx, name)
	if err != nil || !images.IsIndexType(descriptor.MediaType) {
		return descriptor.Digest.String(), err
	}
	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return "", err
	}
	body, err := fetcher.Fetch(ctx, descriptor)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxIndex+1))
	if err != nil {
		return "", err
	}
	index, err := ocivariant.ParseIndex(text, descriptor.MediaType)
	if err != nil {
		return "", err
	}
	if index.Digest != descriptor.Digest.String() {
		return "", fmt.Errorf("%s: the registry sent other bytes than %s", name, descriptor.Digest)
	}
	decision, err := ocivariant.Resolve(index, profile, ocivariant.Options{})
	if err != nil {
		return "", err
	}
	chosen := decision.Selected()
	if chosen == nil {
		return "", fmt.Errorf("%s: nothing fits: %v", name, decision.Rejected)
	}
	return chosen.Digest, nil
}

func readProfile(ctx context.Context, file string) (*ocivariant.Profile, error) {
	if file == "" {
		return ocivariant.NewClient("").Profile(ctx)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ocivariant.ParseProfile(text)
}
