// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"slices"
)

// need is one feature that an entry names: one of the values has to be there.
type need struct {
	slot   *slot
	values []string
}

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

// needsOf returns what the entry needs, by namespace, in canonical order.
func (h *host) needsOf(entry *Entry) [][]need {
	var groups [][]need
	var last *slot
	for _, p := range entry.Properties {
		s := h.slot(p.Namespace, p.Feature)
		if last == nil || last.namespace != s.namespace {
			groups = append(groups, nil)
		}
		group := &groups[len(groups)-1]
		if last != s {
			*group = append(*group, need{slot: s})
		}
		one := &(*group)[len(*group)-1]
		one.values = append(one.values, p.Value)
		last = s
	}
	return groups
}

// checkFit returns the first failure by namespace and feature, device by device as the policies say.
func (h *host) checkFit(entry *Entry) Rejection {
	for _, group := range h.needsOf(entry) {
		for _, one := range group {
			if why := h.checkNeed(one); why.Code != RejectNone {
				return why
			}
		}
		if why := h.checkOneDevice(group); why.Code != RejectNone {
			return why
		}
	}
	return Rejection{}
}

// checkNeed asks under PolicyAll and PolicyFirst (which counts one device) every list of the slot, and under
// PolicyAny at least one.
func (h *host) checkNeed(one need) Rejection {
	s, failing, listed := one.slot, []int{}, false
	for l, list := range s.lists {
		listed = listed || list != nil && len(list.Values) > 0
		if h.best(s, l, one.values) == unsupported {
			failing = append(failing, l)
		}
	}
	some := len(failing) < len(s.lists)
	if some && (s.namespace.policy == PolicyAny || len(failing) == 0) {
		return Rejection{}
	}
	why := Rejection{Namespace: s.namespace.name, Feature: s.feature}
	switch {
	case s.namespace.code != RejectNone:
		why.Code = s.namespace.code
	case slices.ContainsFunc(one.values, func(value string) bool { return h.disablesValue(s, value) }):
		why.Code = RejectDisabled
	case some || len(s.lists) > 1:
		why.Code = RejectDevice
		why.Device = s.devices[failing[0]].ID
		if s.namespace.policy == PolicyAny {
			why.Device = s.devices[failing[len(failing)-1]].ID
		}
	case listed:
		why.Code = RejectValueUnsupported
	default:
		why.Code = RejectFeatureUnsupported
	}
	return why
}

// checkOneDevice asks under PolicyAny for one device that has all features of the namespace.
func (h *host) checkOneDevice(group []need) Rejection {
	ns := group[0].slot.namespace
	if ns.policy != PolicyAny || len(ns.counted) == 0 {
		return Rejection{}
	}
	for d := range ns.counted {
		if h.failingSlot(group, d) == nil {
			return Rejection{}
		}
	}
	return Rejection{Code: RejectDevice, Namespace: ns.name, Feature: h.failingSlot(group, 0).feature,
		Device: ns.counted[0].ID}
}

// failingSlot is the first of one namespace's needs that the device does not serve, or nil.
func (h *host) failingSlot(group []need, device int) *slot {
	for _, one := range group {
		if h.best(one.slot, one.slot.listOf[device], one.values) == unsupported {
			return one.slot
		}
	}
	return nil
}

// component is a part of a sort key: places of namespace, feature, group of devices and value.
type component [4]int

func compareComponents(a, b component) int {
	return slices.Compare(a[:], b[:])
}

func compareKeys(a, b []component) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if order := compareComponents(a[i], b[i]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(b), len(a)) // the longer key beats its own beginning
}

// keyOf is the sort key of an entry that fits.
func (h *host) keyOf(entry *Entry) []component {
	var key []component
	for _, group := range h.needsOf(entry) {
		if ns := group[0].slot.namespace; ns.policy == PolicyAny && len(ns.counted) > 0 {
			key = append(key, h.bestDeviceKey(group)...)
			continue
		}
		for _, one := range group {
			for l := range one.slot.lists {
				key = append(key, h.component(one, l, l))
			}
		}
	}
	slices.SortFunc(key, compareComponents)
	return key
}

// bestDeviceKey lets, under PolicyAny, the serving device with the best key decide for the namespace.
func (h *host) bestDeviceKey(group []need) []component {
	var best []component
	for d := range group[0].slot.namespace.counted {
		if h.failingSlot(group, d) != nil {
			continue
		}
		var key []component
		for _, one := range group {
			key = append(key, h.component(one, one.slot.listOf[d], 0))
		}
		slices.SortFunc(key, compareComponents)
		if best == nil || compareKeys(key, best) < 0 {
			best = key
		}
	}
	return best
}

func (h *host) component(one need, list, group int) component {
	return component{one.slot.namespace.rank, one.slot.rank, group, h.best(one.slot, list, one.values)}
}
