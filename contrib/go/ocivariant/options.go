// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"slices"
	"strings"
)

// Policy says which devices of a namespace a variant must fit.
type Policy string

// All devices that count, any one of them, or the first, which is the most capable.
const (
	PolicyAll   Policy = "all"
	PolicyAny   Policy = "any"
	PolicyFirst Policy = "first"
)

// Options is what the user asks for beside the host's profile. The zero value asks for nothing special. Items of
// Disable and Require are "ns", "ns :: feature" or "ns :: feature :: value".
type Options struct {
	NamespacePriority []string            `json:"namespacePriority,omitempty"` // first these, then the index's order
	Disable           []string            `json:"disable,omitempty"`           // as if the host lacked it
	Require           []string            `json:"require,omitempty"`           // only entries that use each of them
	DevicePolicy      map[string]Policy   `json:"devicePolicy,omitempty"`      // by namespace; PolicyAll if not set
	Devices           map[string][]string `json:"devices,omitempty"`           // that count: index, PCI address or UUID
	Label             string              `json:"label,omitempty"`             // only this one; "null" means any default
	Platform          *Platform           `json:"platform,omitempty"`          // instead of the profile's
}

// normal returns a copy with canonical spacing. It panics, as a parser does, over bad syntax.
func (o Options) normal() Options {
	o.Disable, o.Require = normalSelectors(o.Disable), normalSelectors(o.Require)
	names := slices.Clone(o.NamespacePriority)
	for name, policy := range o.DevicePolicy {
		check(policy == PolicyAll || policy == PolicyAny || policy == PolicyFirst, "policy '%s'", policy)
		names = append(names, name)
	}
	for name, ids := range o.Devices {
		check(!slices.Contains(ids, ""), "a device of '%s' without a name", name)
		names = append(names, name)
	}
	for _, name := range names {
		check(nameGrammar.MatchString(name), "namespace '%s'", name)
	}
	check(o.Label == "" || ReadableLabel(o.Label), "label '%s'", o.Label)
	return o
}

func normalSelectors(selectors []string) []string {
	selectors = slices.Clone(selectors)
	for i, selector := range selectors {
		check(selectorGrammar.MatchString(selector), "'%s' in disable or require", selector)
		bare := strings.Join(strings.Fields(selector), "")
		selectors[i] = strings.ReplaceAll(bare, "::", " :: ")
	}
	return selectors
}
