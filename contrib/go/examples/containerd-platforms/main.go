// SPDX-License-Identifier: LGPL-3.0-or-later

// Command containerd-platforms shows how a client that picks from an index with a platforms.MatchComparer, as
// containerd's does, takes the entry that ocivariant chooses. It prints the index's platforms that the machine runs, best
// first.
//
//	containerd-platforms INDEX PROFILE
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/containerd/platforms"
	"github.com/ocivariant/ocivariant/contrib/go/ocivariant"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

// matchComparer is a platforms.MatchComparer for one index. containerd compares platforms and not descriptors, so each
// platform stands for its best entry; in an index that writers of variants make, no two have one platform.
type matchComparer struct {
	comparer ocivariant.Comparer
	best     map[string]ocivariant.Descriptor
}

var _ platforms.MatchComparer = matchComparer{}

// newMatchComparer returns the order of the decision.
func newMatchComparer(decision *ocivariant.Decision) matchComparer {
	m := matchComparer{decision.Comparer(), map[string]ocivariant.Descriptor{}}
	for _, entry := range decision.Order {
		if entry.Platform == nil {
			continue
		}
		name := platforms.FormatAll(toSpecs(*entry.Platform))
		if _, better := m.best[name]; !better {
			m.best[name] = entry.Descriptor
		}
	}
	return m
}

// Match tells whether the host runs an entry of the platform.
func (m matchComparer) Match(platform specs.Platform) bool {
	return m.comparer.Match(m.best[platforms.FormatAll(platform)])
}

// Less tells whether the entry of the platform a is better.
func (m matchComparer) Less(a, b specs.Platform) bool {
	return m.comparer.Less(m.best[platforms.FormatAll(a)], m.best[platforms.FormatAll(b)])
}

func toSpecs(p ocivariant.Platform) specs.Platform {
	return specs.Platform{Architecture: p.Architecture, OS: p.OS, OSVersion: p.OSVersion, OSFeatures: p.OSFeatures,
		Variant: p.Variant}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "containerd-platforms:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return fmt.Errorf("usage: containerd-platforms INDEX PROFILE")
	}
	decision, err := resolveFiles(arguments[0], arguments[1])
	if err != nil {
		return err
	}
	comparer := newMatchComparer(decision)
	var candidates []specs.Platform
	for _, entry := range decision.Order {
		if entry.Platform != nil && comparer.Match(toSpecs(*entry.Platform)) {
			candidates = append(candidates, toSpecs(*entry.Platform))
		}
	}
	slices.SortStableFunc(candidates, func(a, b specs.Platform) int {
		switch {
		case comparer.Less(a, b):
			return -1
		case comparer.Less(b, a):
			return 1
		}
		return 0
	})
	for _, platform := range candidates {
		fmt.Println(platforms.FormatAll(platform))
	}
	return nil
}

func resolveFiles(indexFile, profileFile string) (*ocivariant.Decision, error) {
	indexText, err := os.ReadFile(indexFile)
	if err != nil {
		return nil, err
	}
	profileText, err := os.ReadFile(profileFile)
	if err != nil {
		return nil, err
	}
	index, err := ocivariant.ParseIndex(indexText, "")
	if err != nil {
		return nil, err
	}
	profile, err := ocivariant.ParseProfile(profileText)
	if err != nil {
		return nil, err
	}
	return ocivariant.Resolve(index, profile, ocivariant.Options{})
}
