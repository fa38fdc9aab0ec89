// SPDX-License-Identifier: LGPL-3.0-or-later

// Command oras-go pulls, with oras.land/oras-go, the entry of an index that ocivariant chooses for this machine, by its
// digest, into an OCI layout.
//
//	oras-go [-profile FILE] [-plain-http] REFERENCE DIRECTORY
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/ocivariant/ocivariant/contrib/go/ocivariant"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
)

func main() {
	profile := flag.String("profile", "", "a profile instead of variantd's")
	plainHTTP := flag.Bool("plain-http", false, "speak HTTP with the registry")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: oras-go [-profile FILE] [-plain-http] REFERENCE DIRECTORY")
		os.Exit(2)
	}
	if err := pull(context.Background(), flag.Arg(0), flag.Arg(1), *profile, *plainHTTP); err != nil {
		fmt.Fprintln(os.Stderr, "oras-go:", err)
		os.Exit(1)
	}
}

func pull(ctx context.Context, reference, directory, profileFile string, plainHTTP bool) error {
	profile, err := readProfile(ctx, profileFile)
	if err != nil {
		return err
	}
	repository, err := remote.NewRepository(reference)
	if err != nil {
		return err
	}
	repository.PlainHTTP = plainHTTP
	descriptor, bytes, err := oras.FetchBytes(ctx, repository, repository.Reference.Reference, oras.DefaultFetchBytesOptions)
	if err != nil {
		return err
	}
	index, err := ocivariant.ParseIndex(bytes, descriptor.MediaType)
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
	store, err := oci.New(directory)
	if err != nil {
		return err
	}
	_, err = oras.Copy(ctx, repository, chosen.Digest, store, chosen.Digest, oras.DefaultCopyOptions)
	if err == nil {
		fmt.Println(chosen.Digest)
	}
	return err
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
