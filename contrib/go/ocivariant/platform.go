// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"slices"
	"strings"
)

// Platform has the fields of an OCI descriptor's platform. As a host's, OSFeatures are those that its administrator
// says it has.
type Platform struct {
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	OSVersion    string   `json:"os.version,omitempty"`
	OSFeatures   []string `json:"os.features,omitempty"`
	Variant      string   `json:"variant,omitempty"`
}

var (
	architectureAliases = map[string]string{"i386": "386", "i686": "386", "x86": "386", "x86_64": "amd64",
		"x86-64": "amd64", "aarch64": "arm64", "armhf": "arm", "armel": "arm", "loongarch64": "loong64"}
	armAliases = map[string]string{"armhf": "v7", "armel": "v6"}
	// What containerd calls them, for ARCHITECTURE/VARIANT.
	variantAliases = map[string]string{"amd64/v1": "", "arm64/8": "", "arm64/v8": "", "arm64/v8.0": "", "arm64/9": "v9",
		"arm64/9.0": "v9", "arm64/v9.0": "v9", "arm/": "v7", "arm/5": "v5", "arm/6": "v6", "arm/7": "v7", "arm/8": "v8"}
	// HOST/ENTRY: what a host of one architecture runs of another.
	compatible = map[string][]string{"amd64/386": {""}, "arm64/arm": {"v8", "v7", "v6", "v5"}}
	// Variants of which each runs on a host of one before it.
	ladders = map[string][]string{
		"amd64": {"v4", "v3", "v2", ""},
		"arm":   {"v8", "v7", "v6", "v5"},
		"arm64": {"v8.9", "v8.8", "v8.7", "v8.6", "v8.5", "v8.4", "v8.3", "v8.2", "v8.1", ""},
	}
	arm64v9 = []string{"v9.9", "v9.8", "v9.7", "v9.6", "v9.5", "v9.4", "v9.3", "v9.2", "v9.1", "v9"}
)

// MatchPlatform returns the place of an entry's variant in the host's order, 0 the best, as containerd's
// platforms.Only has it. Where the entry does not run there the code says why: [RejectPlatform],
// [RejectPlatformVariant] or [RejectOSFeatures].
func MatchPlatform(host, entry Platform) (place int, code Code) {
	host, entry = host.normal(), entry.normal()
	order := variantOrder(host.Architecture, host.Variant)
	if host.Architecture != entry.Architecture {
		order = compatible[host.Architecture+"/"+entry.Architecture]
	}
	place = slices.Index(order, entry.Variant)
	isAbsent := func(feature string) bool { return !slices.Contains(host.OSFeatures, feature) }
	code = cmp.Or(
		when(host.OS != entry.OS || order == nil, RejectPlatform),
		when(place < 0, RejectPlatformVariant),
		when(slices.ContainsFunc(entry.OSFeatures, isAbsent), RejectOSFeatures))
	if code != RejectNone {
		place = -1
	}
	return place, code
}

// variantOrder lists the variants that run on the host, best first. An entry that asks for nothing special runs
// everywhere.
func variantOrder(architecture, host string) []string {
	ladder := ladders[architecture]
	if i := slices.Index(arm64v9, host); i >= 0 && architecture == "arm64" {
		return slices.Concat(arm64v9[i:], ladder[max(i-5, 0):]) // v9.N includes v8.(N+5)
	}
	if i := slices.Index(ladder, host); i >= 0 {
		return ladder[i:]
	}
	return slices.Compact([]string{host, ""})
}

// normal is containerd's normal form: "armhf" and "armel" are versions of arm, and the variant "x-..." is none.
func (p Platform) normal() Platform {
	p.Variant = cmp.Or(armAliases[p.Architecture], p.Variant)
	p.Architecture = cmp.Or(architectureAliases[p.Architecture], p.Architecture)
	if isHidden(p.Variant) {
		p.Variant = ""
	}
	if variant, ok := variantAliases[p.Architecture+"/"+p.Variant]; ok {
		p.Variant = variant
	}
	return p
}

// HiddenVariant is the platform.variant that hides the entry of a label from clients that know nothing of variants.
func HiddenVariant(label string) string { return "x-" + strings.ReplaceAll(label, ".", "-") }

func isHidden(variant string) bool { return strings.HasPrefix(variant, "x-") }
