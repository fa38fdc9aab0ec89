// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const unsupported = math.MaxInt // the place of a value that is not in a list

// hostNamespace is one namespace that the index uses, on this host.
type hostNamespace struct {
	*Namespace
	rank     int        // place in the order of namespaces
	features []Feature  // in their order: those of the namespace, then those that only devices have
	code     Code       // why every property of it fails, or RejectNone
	choices  [][]Device // of which one has to be served: all that count or, under PolicyAny, each by itself
}

// namespace looks each one up once.
func (r *request) namespace(name string) *hostNamespace {
	if ns, known := r.namespaces[name]; known {
		return ns
	}
	// A static namespace is, of this index, that namespace of every host.
	listed := findNamespace(slices.Concat(r.index.statics, r.profile.Namespaces), name)
	ns := &hostNamespace{Namespace: listed, features: slices.Clone(listed.Features)}
	r.namespaces[name] = ns
	ns.rank = slices.Index(slices.Concat(r.options.NamespacePriority, r.index.Namespaces), name)
	for _, device := range listed.Devices {
		ns.features = append(ns.features, device.Features...)
	}
	ns.choices = r.choicesOf(listed)
	ns.code = cmp.Or(
		when(!slices.Contains(r.index.Namespaces, name), RejectNamespaceUndeclared), // the user's list declares none
		when(slices.Contains(r.options.Disable, name), RejectDisabled),
		when(len(ns.features)+len(listed.Devices) == 0, RejectNamespaceUnsupported),
		when(len(ns.choices) == 0, RejectNoDevice))
	if ns.code != RejectNone {
		ns.choices = nil
	}
	return ns
}

// choicesOf has devices in their order, most capable first. A namespace without devices has one that has no features
// of its own.
func (r *request) choicesOf(ns *Namespace) (choices [][]Device) {
	policy := r.options.DevicePolicy[ns.Name]
	wanted, narrowed := r.options.Devices[ns.Name]
	if len(ns.Devices) == 0 && !narrowed {
		return [][]Device{{{}}}
	}
	for _, device := range ns.Devices {
		if narrowed && !slices.ContainsFunc(wanted, device.answersTo) || device.Secondary && policy != PolicyAny {
			continue
		}
		switch {
		case len(choices) == 0 || policy == PolicyAny:
			choices = append(choices, []Device{device})
		case policy != PolicyFirst:
			choices[0] = append(choices[0], device)
		}
	}
	return choices
}

// listsOf has the feature's values on each of the devices: its own ones, or those of the namespace.
func (ns *hostNamespace) listsOf(devices []Device, feature string) [][]string {
	var lists [][]string
	for _, device := range devices {
		lists = append(lists, valuesOf(feature, device.Features, ns.Features))
	}
	return lists
}

// fit returns the parts of the entry's sort key, or why its properties do not fit.
func (r *request) fit(entry *Entry) (key [][]int, why Rejection) {
	for _, properties := range split(entry.Properties, func(p Property) string { return p.Namespace }) {
		ns := r.namespace(properties[0].Namespace)
		needs := split(properties, func(p Property) string { return p.Feature })
		part := r.bestKey(ns, needs...)
		if part == nil {
			return nil, r.explain(ns, needs)
		}
		key = append(key, part...)
	}
	slices.SortFunc(key, slices.Compare)
	return key, Rejection{}
}

// split makes groups of neighbours that have the same name.
func split(properties []Property, nameOf func(Property) string) [][]Property {
	var groups [][]Property
	for i, p := range properties {
		if i == 0 || nameOf(p) != nameOf(properties[i-1]) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], p)
	}
	return groups
}

// bestKey lets the devices that serve all needs best decide. It is nil where none do.
func (r *request) bestKey(ns *hostNamespace, needs ...[]Property) (best [][]int) {
	for _, devices := range ns.choices {
		key := r.keyOn(ns, devices, needs...)
		if key != nil && (best == nil || slices.CompareFunc(key, best, slices.Compare) < 0) {
			best = key
		}
	}
	return best
}

// keyOn has, for each need and each group of devices with equal lists, the places of namespace, feature, group and
// value. It is nil where a device does not serve a need.
func (r *request) keyOn(ns *hostNamespace, devices []Device, needs ...[]Property) (key [][]int) {
	for _, need := range needs {
		feature := need[0].Feature
		for group, list := range slices.CompactFunc(ns.listsOf(devices, feature), slices.Equal) {
			place := r.bestPlace(list, need)
			if place == unsupported {
				return nil
			}
			key = append(key, []int{ns.rank, featureIndex(ns.features, feature), group, place})
		}
	}
	slices.SortFunc(key, slices.Compare)
	return key
}

// bestPlace is the first place in the list of one of the values.
func (r *request) bestPlace(list []string, need []Property) int {
	best := unsupported
	for _, p := range need {
		if place := slices.Index(list, p.Value); place >= 0 && !r.disables(p) {
			best = min(best, place)
		}
	}
	return best
}

// disables tells whether the value or its feature is disabled; the whole namespace has a code of its own.
func (r *request) disables(p Property) bool {
	return slices.Contains(r.options.Disable, p.String()) ||
		slices.Contains(r.options.Disable, p.Namespace+" :: "+p.Feature)
}

// explain is about the first need that is met nowhere. Where PolicyAny asks for one device, and each need is met on
// another one, it is about the first that the first device does not meet.
func (r *request) explain(ns *hostNamespace, needs [][]Property) Rejection {
	at := slices.IndexFunc(needs, func(need []Property) bool { return r.bestKey(ns, need) == nil })
	scattered := at < 0
	if scattered {
		at = slices.IndexFunc(needs, func(need []Property) bool { return r.keyOn(ns, ns.choices[0], need) == nil })
	}
	need := needs[at]
	why := Rejection{Code: ns.code, Namespace: ns.Name, Feature: need[0].Feature}
	for _, p := range need {
		why.Wanted = append(why.Wanted, p.Value)
	}
	if why.Code != RejectNone {
		return why
	}
	devices := slices.Concat(ns.choices...)
	lists := ns.listsOf(devices, why.Feature)
	device := slices.IndexFunc(lists, func(list []string) bool { return r.bestPlace(list, need) == unsupported })
	why.Have = lists[device]
	why.Code = cmp.Or(
		when(!scattered && slices.ContainsFunc(need, r.disables), RejectDisabled),
		when(len(slices.CompactFunc(lists, slices.Equal)) > 1, RejectDevice),
		when(len(why.Have) > 0, RejectValueUnsupported),
		RejectFeatureUnsupported)
	if why.Code == RejectDevice {
		why.Device = devices[device].ID
	}
	return why
}

// meets tells whether the property is what is required, or, where a single value is, whether the devices of its
// namespace that count have that value.
func (r *request) meets(item string, p Property) bool {
	ns := r.namespace(p.Namespace)
	has := func(list []string) bool { return r.bestPlace(list, []Property{p}) != unsupported }
	isPart := strings.HasPrefix(p.String()+" :: ", item+" :: ")
	if isPart && slices.ContainsFunc(ns.listsOf(slices.Concat(ns.choices...), p.Feature), has) {
		return true
	}
	wanted, err := ParseProperty(item)
	if err != nil || wanted.Namespace != p.Namespace || len(ns.Devices) == 0 {
		return false
	}
	lacks := func(list []string) bool { return !slices.Contains(list, wanted.Value) }
	return slices.ContainsFunc(ns.choices, func(devices []Device) bool {
		return !slices.ContainsFunc(ns.listsOf(devices, wanted.Feature), lacks)
	})
}
