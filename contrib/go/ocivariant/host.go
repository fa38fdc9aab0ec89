// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"math"
	"slices"
)

const unsupported = math.MaxInt32

// host has what the index uses of the profile, each namespace and feature looked up once.
type host struct {
	index      *Index
	profile    *Profile
	options    Options
	namespaces map[string]*hostNamespace
}

// hostNamespace is one namespace that the index uses, on this host.
type hostNamespace struct {
	name    string
	rank    int        // place in the order of namespaces
	listed  *Namespace // nil: the host does not have it
	code    Code       // why every property of it fails, or RejectNone
	policy  Policy
	counted []*Device
	slots   map[string]*slot
}

// slot is one feature of a namespace, as this host has it.
type slot struct {
	namespace *hostNamespace
	feature   string
	rank      int        // place in the host's order of features
	lists     []*Feature // one for each group of devices, or one in all; members may be nil
	devices   []*Device  // the first device of each group; none where there is one list for all
	listOf    []int      // counted device -> list
}

func (h *host) namespace(name string) *hostNamespace {
	if ns, known := h.namespaces[name]; known {
		return ns
	}
	ns := &hostNamespace{name: name, policy: h.options.DevicePolicy[name], slots: map[string]*slot{}}
	h.namespaces[name] = ns
	ns.listed = h.profile.namespace(name)
	for _, static := range h.index.statics { // of this index it is that namespace of every host
		if static.Name == name {
			ns.listed = static
		}
	}
	ns.rank = h.namespaceRank(name)
	switch {
	case ns.rank == unsupported:
		ns.code = RejectNamespaceUndeclared
	case h.disables(name):
		ns.code = RejectDisabled
	case ns.listed == nil || len(ns.listed.Features) == 0 && len(ns.listed.Devices) == 0:
		ns.code = RejectNamespaceUnsupported
	default:
		h.countDevices(ns)
	}
	return ns
}

// namespaceRank puts the user's namespaces first, then the index's. A user's list never declares one.
func (h *host) namespaceRank(name string) int {
	place := slices.Index(h.index.Namespaces, name)
	users := slices.Index(h.options.NamespacePriority, name)
	switch {
	case place < 0:
		return unsupported
	case users >= 0:
		return users
	}
	return len(h.options.NamespacePriority) + place
}

func (h *host) countDevices(ns *hostNamespace) {
	wanted, narrowed := h.options.Devices[ns.name]
	for i := range ns.listed.Devices {
		device := &ns.listed.Devices[i]
		if narrowed && !slices.ContainsFunc(wanted, device.answersTo) || device.Secondary && ns.policy != PolicyAny {
			continue
		}
		ns.counted = append(ns.counted, device)
		if ns.policy == PolicyFirst {
			break // devices are listed most capable first
		}
	}
	if len(ns.counted) == 0 && (len(ns.listed.Devices) > 0 || narrowed) {
		ns.code = RejectNoDevice
	}
}

func (h *host) slot(namespace, feature string) *slot {
	ns := h.namespace(namespace)
	if s, known := ns.slots[feature]; known {
		return s
	}
	s := &slot{namespace: ns, feature: feature, rank: unsupported}
	ns.slots[feature] = s
	if ns.code == RejectNone {
		s.rank = featureRank(ns.listed, feature)
		s.groupDevices(findFeature(ns.listed.Features, feature))
	}
	return s
}

// featureRank is the place as the namespace lists its features, then those that only devices have.
func featureRank(list *Namespace, feature string) int {
	features := slices.Clone(list.Features)
	for _, device := range list.Devices {
		features = append(features, device.Features...)
	}
	return slices.IndexFunc(features, func(f Feature) bool { return f.Name == feature })
}

// groupDevices makes one list for each group of consecutive counted devices with equal lists, and a single one of a
// feature that no device has for itself.
func (s *slot) groupDevices(common *Feature) {
	own := func(d *Device) bool { return findFeature(d.Features, s.feature) != nil }
	if !slices.ContainsFunc(s.namespace.counted, own) {
		s.lists = []*Feature{common}
		s.listOf = make([]int, len(s.namespace.counted))
		return
	}
	for _, device := range s.namespace.counted {
		list := findFeature(device.Features, s.feature)
		if list == nil {
			list = common
		}
		if len(s.lists) == 0 || !sameValues(s.lists[len(s.lists)-1], list) {
			s.lists = append(s.lists, list)
			s.devices = append(s.devices, device)
		}
		s.listOf = append(s.listOf, len(s.lists)-1)
	}
}

func sameValues(a, b *Feature) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Values, b.Values)
}

// best is the place of the best of the values in one list of the slot.
func (h *host) best(s *slot, list int, values []string) int {
	best := unsupported
	for _, value := range values {
		if s.lists[list] == nil {
			break
		}
		if place, listed := s.lists[list].places[value]; listed && place < best && !h.disablesValue(s, value) {
			best = place
		}
	}
	return best
}

// supports tells whether any list of the host has the property.
func (h *host) supports(p Property) bool {
	s := h.slot(p.Namespace, p.Feature)
	for l := range s.lists {
		if h.best(s, l, []string{p.Value}) != unsupported {
			return true
		}
	}
	return false
}

// disables tells whether exactly this namespace, feature or value is disabled.
func (h *host) disables(selector string) bool {
	return slices.Contains(h.options.Disable, selector)
}

func (h *host) disablesValue(s *slot, value string) bool {
	if len(h.options.Disable) == 0 {
		return false
	}
	selector := s.namespace.name + " :: " + s.feature
	return h.disables(selector) || h.disables(selector+" :: "+value)
}
