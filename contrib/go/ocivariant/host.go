// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import "slices"

// host has what the index uses of the profile, each namespace and feature looked up once.
type host struct {
	index      *Index
	profile    *Profile
	options    Options
	namespaces map[string]*hostNamespace
}

// hostNamespace is one namespace that the index uses, on this host.
type hostNamespace struct {
	*Namespace
	rank     int       // place in the order of namespaces
	code     Code      // why every property of it fails, or RejectNone
	devices  []*Device // that count; a namespace without any has one that adds nothing to its features
	together int       // so many of these have to be served at once
	features map[string]*hostFeature
}

// hostFeature is one feature of a namespace, as this host has it.
type hostFeature struct {
	namespace *hostNamespace
	name      string
	rank      int         // place in the host's order of features
	lists     []*hostList // one for each device; neighbours with equal values share theirs
}

// hostList has the values of a feature on a device.
type hostList struct {
	values []string
	places map[string]int // of those that are not disabled
}

func (h *host) namespace(name string) *hostNamespace {
	if ns, known := h.namespaces[name]; known {
		return ns
	}
	// a static namespace is, of this index, that namespace of every host
	listed := findNamespace(slices.Concat(h.index.statics, h.profile.Namespaces), name)
	ns := &hostNamespace{Namespace: listed, features: map[string]*hostFeature{}}
	h.namespaces[name] = ns
	// the user's list never declares a namespace
	ns.rank = slices.Index(slices.Concat(h.options.NamespacePriority, h.index.Namespaces), name)
	h.countDevices(ns)
	switch {
	case !slices.Contains(h.index.Namespaces, name):
		ns.code = RejectNamespaceUndeclared
	case slices.Contains(h.options.Disable, name):
		ns.code = RejectDisabled
	case len(listed.Features)+len(listed.Devices) == 0:
		ns.code = RejectNamespaceUnsupported
	case len(ns.devices) == 0:
		ns.code = RejectNoDevice
	}
	if ns.code != RejectNone {
		ns.devices = nil
	}
	return ns
}

func (h *host) countDevices(ns *hostNamespace) {
	wanted, narrowed := h.options.Devices[ns.Name]
	policy := h.options.DevicePolicy[ns.Name]
	for i := range ns.Devices {
		device := &ns.Devices[i]
		isMeant := !narrowed || slices.ContainsFunc(wanted, device.answersTo)
		if isMeant && (!device.Secondary || policy == PolicyAny) {
			ns.devices = append(ns.devices, device)
		}
	}
	if len(ns.Devices) == 0 && !narrowed {
		ns.devices = []*Device{{}}
	}
	if policy == PolicyFirst {
		ns.devices = ns.devices[:min(len(ns.devices), 1)] // devices are listed most capable first
	}
	ns.together = len(ns.devices)
	if policy == PolicyAny {
		ns.together = 1
	}
}

func (h *host) feature(namespace, name string) *hostFeature {
	ns := h.namespace(namespace)
	if feature, known := ns.features[name]; known {
		return feature
	}
	feature := &hostFeature{namespace: ns, name: name, rank: featureRank(ns.Namespace, name)}
	ns.features[name] = feature
	for _, device := range ns.devices {
		values := valuesOf(slices.Concat(device.Features, ns.Features), name)
		list := h.newList(namespace, name, values)
		if last := len(feature.lists) - 1; last >= 0 && slices.Equal(feature.lists[last].values, values) {
			list = feature.lists[last]
		}
		feature.lists = append(feature.lists, list)
	}
	return feature
}

// featureRank is the place as the namespace lists its features, then those that only devices have.
func featureRank(namespace *Namespace, name string) int {
	features := slices.Clone(namespace.Features)
	for _, device := range namespace.Devices {
		features = append(features, device.Features...)
	}
	return featureIndex(features, name)
}

func (h *host) newList(namespace, feature string, values []string) *hostList {
	list := &hostList{values, map[string]int{}}
	for i, value := range values {
		_, again := list.places[value]
		if !again && !h.disables(Property{namespace, feature, value}) {
			list.places[value] = i
		}
	}
	return list
}

// disables tells whether the value or its feature is disabled; the whole namespace has a code of its own.
func (h *host) disables(p Property) bool {
	return slices.Contains(h.options.Disable, p.String()) ||
		slices.Contains(h.options.Disable, p.Namespace+" :: "+p.Feature)
}
