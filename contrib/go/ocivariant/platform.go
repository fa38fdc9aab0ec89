// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	// The architecture whose images run as well, behind the host's own.
	compatible = map[string]string{"amd64": "386", "arm64": "arm"}
	arm64Form  = regexp.MustCompile(`^v([89])(?:\.([0-9]))?$`)
)

// MatchPlatform returns the place of an entry's variant in the host's order, 0 the best, as containerd's
// platforms.Only has it. Where the entry does not run there the code says why: [RejectPlatform],
// [RejectPlatformVariant] or [RejectOSFeatures].
func MatchPlatform(host, entry Platform) (place int, code Code) {
	architecture := normalArchitecture(entry.Architecture)
	if host.OS != entry.OS || architectureTurn(host, entry) < 0 {
		return -1, RejectPlatform
	}
	order := variantOrder("arm", "v8") // on arm64
	if architecture == normalArchitecture(host.Architecture) {
		order = variantOrder(architecture, normalVariant(host))
	} else if architecture == "386" {
		order = []string{""}
	}
	place = slices.Index(order, normalVariant(entry))
	if place < 0 {
		return -1, RejectPlatformVariant
	}
	for _, feature := range entry.OSFeatures {
		if !slices.Contains(host.OSFeatures, feature) {
			return -1, RejectOSFeatures
		}
	}
	return place, RejectNone
}

// architectureTurn is 0 for the host's own architecture, 1 for the compatible one and -1 for others.
func architectureTurn(host, entry Platform) int {
	own, other := normalArchitecture(host.Architecture), normalArchitecture(entry.Architecture)
	switch {
	case own == other:
		return 0
	case other != "" && compatible[own] == other:
		return 1
	}
	return -1
}

// variantOrder lists the variants of the host's architecture that it runs, best first. An entry that asks for nothing
// special runs everywhere.
func variantOrder(architecture, host string) []string {
	level, _ := strconv.Atoi(strings.TrimPrefix(host, "v"))
	known := len(host) == 2 && host[0] == 'v'
	switch {
	case architecture == "amd64" && known && level >= 2 && level <= 4:
		return append(descending("v", level, 2), "")
	case architecture == "arm" && known && level >= 5 && level <= 8:
		return descending("v", level, 5)
	case architecture == "arm64" && arm64Form.MatchString(host):
		return arm64Order(host)
	case host == "":
		return []string{""}
	}
	return []string{host, ""}
}

// arm64Order is v9.k to v9, v8.(5+k) to v8.1 and v8, which is no variant; v9.4 and newer include v8.9.
func arm64Order(host string) []string {
	version := arm64Form.FindStringSubmatch(host)
	minor, _ := strconv.Atoi(version[2])
	if version[1] == "8" {
		return append(descending("v8.", minor, 1), "")
	}
	order := append(descending("v9.", minor, 1), "v9")
	return append(append(order, descending("v8.", min(minor+5, 9), 1)...), "")
}

func descending(prefix string, from, to int) []string {
	var names []string
	for ; from >= to; from-- {
		names = append(names, fmt.Sprint(prefix, from))
	}
	return names
}

func normalArchitecture(architecture string) string {
	if normal, ok := architectureAliases[architecture]; ok {
		return normal
	}
	return architecture
}

// normalVariant is containerd's normal form: "armhf" and "armel" are versions of arm, and "x-..." is none.
func normalVariant(platform Platform) string {
	if variant, ok := armAliases[platform.Architecture]; ok {
		return variant
	}
	variant := platform.Variant
	if isHidden(variant) {
		variant = ""
	}
	if normal, ok := variantAliases[normalArchitecture(platform.Architecture)+"/"+variant]; ok {
		return normal
	}
	return variant
}

// HiddenVariant is the platform.variant that hides the entry of a label from clients that know nothing of variants.
func HiddenVariant(label string) string {
	return "x-" + strings.ReplaceAll(label, ".", "-")
}

func isHidden(variant string) bool {
	return strings.HasPrefix(variant, "x-")
}
