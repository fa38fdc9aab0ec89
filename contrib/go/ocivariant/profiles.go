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
	places map[string]int // of one that is listed twice the first
}

func newFeature(name string) Feature {
	return Feature{Name: name, places: map[string]int{}}
}

func (f *Feature) add(value string) {
	if _, known := f.places[value]; !known {
		f.places[value] = len(f.Values)
	}
	f.Values = append(f.Values, value)
}

func findFeature(features []Feature, name string) *Feature {
	i := slices.IndexFunc(features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &features[i]
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
func ParseProfile(data []byte) (*Profile, error) {
	root, err := loadJSON("profile", data, math.MaxInt)
	if err != nil {
		return nil, err
	}
	f := newFields("profile", root)
	if schema := f.text("schema"); f.has("schema") && schema != profileSchema {
		f.fail("schema is '%.60s', known here: %s", schema, profileSchema)
	}
	if !f.has("namespaces") {
		f.fail("'namespaces' is missing")
	}
	profile := &Profile{}
	for _, item := range f.list("namespaces", maxProfileNamespaces) {
		namespace := readNamespace(f, item)
		if profile.namespace(namespace.Name) != nil {
			f.fail("namespace '%s' is listed twice", namespace.Name)
		}
		profile.Namespaces = append(profile.Namespaces, namespace)
	}
	readHostPlatform(f, profile)
	if f.err != nil {
		return nil, f.err
	}
	return profile, nil
}

func readHostPlatform(f *fields, profile *Profile) {
	p := fields{what: "platform", members: f.object("platform")}
	profile.named = p.has("architecture")
	profile.Platform = Platform{OS: p.text("os"), Architecture: p.text("architecture"), Variant: p.text("variant")}
	if _, isList := p.members["os.features"].([]any); isList {
		profile.Platform.OSFeatures = p.texts("os.features", maxDocument)
	}
	if p.err != nil {
		f.fail("%v", p.err)
	}
	if !p.has("os") {
		profile.Platform.OS = "linux"
	}
	levels := []string{"v4", "v3", "v2"} // a profile written by hand may have no variant
	hasLevel := func(level string) bool { return profile.supports(Property{"x86_64", "level", level}) }
	i := slices.IndexFunc(levels, hasLevel)
	if i >= 0 && !p.has("variant") && normalArchitecture(profile.Platform.Architecture) == "amd64" {
		profile.Platform.Variant = levels[i]
	}
}

func readNamespace(f *fields, item any) *Namespace {
	n := newFields("profile: namespace", item)
	namespace := &Namespace{Name: readName(n, "namespace"), Features: readFeatures(n)}
	for i, item := range n.list("devices", maxDevices) {
		namespace.Devices = append(namespace.Devices, readDevice(n, i, item))
	}
	if n.err != nil {
		f.fail("%v", n.err)
	}
	return namespace
}

func readDevice(n *fields, place int, item any) Device {
	d := newFields("device", item)
	device := Device{ID: d.text("id"), UUID: d.text("uuid"), Index: int64(place), Features: readFeatures(d),
		Secondary: d.members["secondary"] == true}
	if index, ok := d.members["index"].(int64); ok && index >= 0 && index < math.MaxInt32 {
		device.Index = index
	}
	if !d.has("id") {
		device.ID = strconv.FormatInt(device.Index, 10)
	}
	if d.err != nil {
		n.fail("%v", d.err)
	}
	return device
}

func readFeatures(f *fields) []Feature {
	var features []Feature
	seen := map[string]bool{}
	for _, item := range f.list("features", maxFeatures) {
		m := newFields("feature", item)
		feature := newFeature(readName(m, "name"))
		for _, value := range m.texts("values", maxFeatureValues) {
			if !valueGrammar.MatchString(value) {
				m.fail("value '%.60s' is not of a-z 0-9 _ .", value)
			}
			feature.add(value)
		}
		if m.err != nil || seen[feature.Name] {
			f.fail("feature '%s' is listed twice or malformed: %v", feature.Name, m.err)
		}
		seen[feature.Name] = true
		features = append(features, feature)
	}
	return features
}

func readName(f *fields, key string) string {
	name := f.text(key)
	if !nameGrammar.MatchString(name) {
		f.fail("'%s' is missing or not of a-z 0-9 _", key)
	}
	return name
}

func (p *Profile) namespace(name string) *Namespace {
	i := slices.IndexFunc(p.Namespaces, func(n *Namespace) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return p.Namespaces[i]
}

// supports tells whether the namespace's own list has the property.
func (p *Profile) supports(property Property) bool {
	namespace := p.namespace(property.Namespace)
	if namespace == nil {
		return false
	}
	feature := findFeature(namespace.Features, property.Feature)
	return feature != nil && slices.Contains(feature.Values, property.Value)
}

// answersTo tells whether the text names the device: its index, its PCI address with or without domain, or its UUID.
func (d *Device) answersTo(text string) bool {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		number, err := strconv.ParseInt(text, 10, 64)
		return err == nil && number == d.Index
	}
	text, id, uuid := lower(text), lower(d.ID), lower(d.UUID)
	// "0000:3b:00.0" and nvidia-smi's "00000000:3b:00.0" are one address
	addresses := strings.Count(id, ":") > 1 && strings.Count(text, ":") > 1
	return id == text || uuid != "" && uuid == text ||
		addresses && strings.TrimLeft(id, "0") == strings.TrimLeft(text, "0") ||
		len(id) == len(text)+5 && id[4] == ':' && id[5:] == text
}
