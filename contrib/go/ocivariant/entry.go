// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"math"
	"slices"
)

// Rejection says why an entry is out.
type Rejection struct {
	Entry     *Entry
	Code      Code
	Namespace string // of the first feature that fails, by namespace and feature; "" if the code is about none
	Feature   string
	Device    string   // id of the device that is not served
	Wanted    []string // values of the feature, one of which the host would need
	Have      []string // values that the host has, best first
	Required  string   // what the entry does not use and has to
}

// Property returns "namespace :: feature", or "" where the code is not about a feature.
func (r Rejection) Property() string {
	if r.Namespace == "" {
		return ""
	}
	return r.Namespace + " :: " + r.Feature
}

const unsupported = math.MaxInt

// need is one feature that an entry names: one of the values has to be there.
type need struct {
	*hostFeature
	values []string
}

// needsOf returns what the entry needs, by namespace, in canonical order.
func (h *host) needsOf(entry *Entry) [][]*need {
	var groups [][]*need
	last := &need{hostFeature: &hostFeature{}}
	for _, p := range entry.Properties {
		feature := h.feature(p.Namespace, p.Feature)
		if last.namespace != feature.namespace {
			groups = append(groups, nil)
		}
		if last.hostFeature != feature {
			last = &need{hostFeature: feature}
			groups[len(groups)-1] = append(groups[len(groups)-1], last)
		}
		last.values = append(last.values, p.Value)
	}
	return groups
}

// fit returns the parts of the entry's sort key, or why its properties do not fit.
func (h *host) fit(entry *Entry) (key [][]int, why Rejection) {
	for _, needs := range h.needsOf(entry) {
		part := bestKey(needs)
		if part == nil {
			return nil, h.explain(needs)
		}
		key = append(key, part...)
	}
	slices.SortFunc(key, slices.Compare)
	return key, Rejection{}
}

// bestKey lets the devices that serve all needs of a namespace best decide. It is nil where none do.
func bestKey(needs []*need) (best [][]int) {
	ns := needs[0].namespace
	for from := 0; from < len(ns.devices); from += ns.together {
		key := keyOn(needs, from)
		if key != nil && (best == nil || slices.CompareFunc(key, best, slices.Compare) < 0) {
			best = key
		}
	}
	return best
}

// groups has the lists of neighbours that share theirs once.
func groups(lists []*hostList) []*hostList {
	return slices.Compact(slices.Clone(lists))
}

// keyOn has, for each need and each group of devices with equal lists, the places of namespace, feature, group and
// value. It is nil where the devices do not serve the needs.
func keyOn(needs []*need, from int) (key [][]int) {
	for _, one := range needs {
		lists := one.lists[from : from+one.namespace.together]
		for group, list := range groups(lists) {
			place := list.best(one.values)
			if place == unsupported {
				return nil
			}
			key = append(key, []int{one.namespace.rank, one.rank, group, place})
		}
	}
	slices.SortFunc(key, slices.Compare)
	return key
}

// best is the place of the best of the values, or unsupported.
func (l *hostList) best(values []string) int {
	best := unsupported
	for _, value := range values {
		if place, listed := l.places[value]; listed {
			best = min(best, place)
		}
	}
	return best
}

// explain is about the first need that is met nowhere. Where PolicyAny asks for one device, and each need is met on
// another one, it is about the first that the first device does not meet.
func (h *host) explain(needs []*need) Rejection {
	ns := needs[0].namespace
	at := slices.IndexFunc(needs, func(one *need) bool { return bestKey([]*need{one}) == nil })
	scattered := at < 0
	if scattered {
		at = slices.IndexFunc(needs, func(one *need) bool { return keyOn([]*need{one}, 0) == nil })
	}
	one := needs[at]
	why := Rejection{Code: ns.code, Namespace: ns.Name, Feature: one.name, Wanted: one.values}
	if why.Code != RejectNone {
		return why
	}
	device := slices.IndexFunc(one.lists, func(l *hostList) bool { return l.best(one.values) == unsupported })
	why.Have = one.lists[device].values
	isDisabled := func(value string) bool { return h.disables(Property{ns.Name, one.name, value}) }
	switch {
	case !scattered && slices.ContainsFunc(one.values, isDisabled):
		why.Code = RejectDisabled
	case len(groups(one.lists)) > 1:
		why.Code, why.Device = RejectDevice, ns.devices[device].ID
	case len(why.Have) > 0:
		why.Code = RejectValueUnsupported
	default:
		why.Code = RejectFeatureUnsupported
	}
	return why
}
