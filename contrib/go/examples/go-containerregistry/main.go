// SPDX-License-Identifier: LGPL-3.0-or-later

// Command go-containerregistry pulls, with github.com/google/go-containerregistry, the entry of an index that
// ocivariant chooses for this machine, by its digest, into an OCI layout.
//
//	go-containerregistry [-profile FILE] REFERENCE DIRECTORY
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/ocivariant/ocivariant/contrib/go/ocivariant"
)

func main() {
	profile := flag.String("profile", "", "a profile instead of variantd's")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: go-containerregistry [-profile FILE] REFERENCE DIRECTORY")
		os.Exit(2)
	}
	if err := pull(context.Background(), flag.Arg(0), flag.Arg(1), *profile); err != nil {
		fmt.Fprintln(os.Stderr, "go-containerregistry:", err)
		os.Exit(1)
	}
}

func pull(ctx context.Context, reference, directory, profileFile string) error {
	profile, err := readProfile(ctx, profileFile)
	if err != nil {
		return err
	}
	tag, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	found, err := remote.Get(tag, options...)
	if err != nil {
		return err
	}
	index, err := ocivariant.ParseIndex(found.Manifest, string(found.MediaType))
	if err != nil {
		return err
	}
	decision, err := ocivariant.Resolve(index, profile, ocivariant.Options{})
	if err != nil {
		return err
	}
	chosen := decision.Selected()
	if chosen == nil {
		return fmt.Errorf("%s: nothing fits: %v", reference, decision.Rejected)
	}
	image, err := remote.Image(tag.Context().Digest(chosen.Digest), options...)
	if err != nil {
		return err
	}
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return err
	}
	fmt.Println(chosen.Digest)
	return path.AppendImage(image)
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
