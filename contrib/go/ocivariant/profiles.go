// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

const profileSchema = "dev.ocivariant.profile/v1"

// Feature is an ordered list of values, best first.
type Feature struct {
	Name   string
	Values []string
}

// Device is one device of a namespace. Its features replace those of the namespace for it.
type Device struct {
	ID        string // PCI address; its index where that is not recorded
	UUID      string
	Index     int64 // order on the bus within the namespace
	Secondary bool  // counts under PolicyAny only
	Features  []Feature
}

// Namespace has the features of one kind of hardware, most important first, and its devices, most capable first.
type Namespace struct {
	Name     string
	Features []Feature
	Devices  []Device
}

// Profile is what one host supports.
type Profile struct {
	Platform   Platform
	Namespaces []*Namespace
	named      bool // the platform has an architecture
}

// ParseProfile parses a profile. Unknown keys are ignored; a namespace or feature that is listed twice, bad syntax
// and going over a limit are [ErrData]. An absent operating system is linux, and an absent variant of amd64 the level
// that the profile has.
func ParseProfile(data []byte) (_ *Profile, err error) {
	defer catch(&err, ErrData, "profile")
	root := loadJSON(data, math.MaxInt)
	check(root["schema"] == nil || root["schema"] == profileSchema, "its schema is not %s", profileSchema)
	check(root["namespaces"] != nil, "'namespaces' is missing")
	profile, seen := &Profile{}, map[string]bool{}
	for _, members := range getList[object](root, "namespaces", maxProfileNamespaces) {
		namespace := &Namespace{Name: readName(members, "namespace"), Features: readFeatures(members)}
		for i, device := range getList[object](members, "devices", maxDevices) {
			namespace.Devices = append(namespace.Devices, readDevice(device, i))
		}
		check(!seen[namespace.Name], "namespace '%s' is listed twice", namespace.Name)
		seen[namespace.Name] = true
		profile.Namespaces = append(profile.Namespaces, namespace)
	}
	platform := get[object](root, "platform")
	profile.named = platform["architecture"] != nil
	profile.Platform = readHostPlatform(platform, findNamespace(profile.Namespaces, "x86_64"))
	return profile, nil
}

func readHostPlatform(members object, cpu *Namespace) Platform {
	platform := Platform{OS: get[string](members, "os"), Architecture: get[string](members, "architecture"),
		Variant: get[string](members, "variant")}
	if _, isList := members["os.features"].([]any); isList {
		platform.OSFeatures = getList[string](members, "os.features", maxDocument)
	}
	if members["os"] == nil {
		platform.OS = "linux"
	}
	if members["variant"] == nil && platform.normal().Architecture == "amd64" {
		for _, level := range []string{"v2", "v3", "v4"} { // a profile written by hand may have no variant
			if slices.Contains(valuesOf("level", cpu.Features), level) {
				platform.Variant = level
			}
		}
	}
	return platform
}

func readDevice(members object, place int) Device {
	device := Device{UUID: get[string](members, "uuid"), Index: int64(place),
		Secondary: members["secondary"] == true, Features: readFeatures(members)}
	if index, ok := members["index"].(int64); ok && index >= 0 && index < math.MaxInt32 {
		device.Index = index
	}
	device.ID = strconv.FormatInt(device.Index, 10)
	if members["id"] != nil {
		device.ID = get[string](members, "id")
	}
	return device
}

func readFeatures(members object) []Feature {
	var features []Feature
	for _, members := range getList[object](members, "features", maxFeatures) {
		feature := Feature{readName(members, "name"), getList[string](members, "values", maxFeatureValues)}
		for _, value := range feature.Values {
			check(valueGrammar.MatchString(value), "value '%.60s' is not of a-z 0-9 _ .", value)
		}
		check(featureIndex(features, feature.Name) < 0, "feature '%s' is listed twice", feature.Name)
		features = append(features, feature)
	}
	return features
}

func readName(members object, key string) string {
	name := get[string](members, key)
	check(nameGrammar.MatchString(name), "'%s' is missing or not of a-z 0-9 _", key)
	return name
}

// findNamespace returns the first one of that name, one without features and devices if there is none.
func findNamespace(namespaces []*Namespace, name string) *Namespace {
	i := slices.IndexFunc(namespaces, func(n *Namespace) bool { return n.Name == name })
	if i < 0 {
		return &Namespace{Name: name}
	}
	return namespaces[i]
}

func featureIndex(features []Feature, name string) int {
	return slices.IndexFunc(features, func(f Feature) bool { return f.Name == name })
}

// valuesOf returns the values of the first feature of that name.
func valuesOf(name string, lists ...[]Feature) []string {
	for _, features := range lists {
		if i := featureIndex(features, name); i >= 0 {
			return features[i].Values
		}
	}
	return nil
}

// answersTo tells whether the text names the device: its index, its PCI address with or without domain, or its UUID.
func (d Device) answersTo(text string) bool {
	if strings.Trim(text, "0123456789") == "" {
		number, err := strconv.ParseInt(text, 10, 64)
		return err == nil && number == d.Index
	}
	text, id := lower(text), lower(d.ID)
	// "0000:3b:00.0" and nvidia-smi's "00000000:3b:00.0" are one address
	return text == id || text == lower(d.UUID) || len(id) > 5 && id[4] == ':' && id[5:] == text ||
		strings.Count(id, ":") > 1 && strings.TrimLeft(id, "0") == strings.TrimLeft(text, "0")
}
