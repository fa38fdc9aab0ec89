// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"fmt"
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

// Options is what the user asks for beside the host's profile. The zero value asks for nothing special.
type Options struct {
	NamespacePriority []string            `json:"namespacePriority,omitempty"` // first these, then the index's order
	Disable           []string            `json:"disable,omitempty"`           // as if the host lacked it: "ns", "ns :: feature", "ns :: feature :: value"
	Require           []string            `json:"require,omitempty"`           // written likewise: only entries that use each of them
	DevicePolicy      map[string]Policy   `json:"devicePolicy,omitempty"`      // by namespace; PolicyAll where it is not set
	Devices           map[string][]string `json:"devices,omitempty"`           // by namespace, those that count: index, PCI address or UUID
	Label             string              `json:"label,omitempty"`             // only this variant; "null": the default, labelled so or not
	Platform          *Platform           `json:"platform,omitempty"`          // instead of the profile's
}

// normal returns a copy with canonical spacing; bad syntax is ErrInvalid.
func (o Options) normal() (Options, error) {
	var err error
	check := func(good bool, text string) {
		if !good && err == nil {
			err = fmt.Errorf("%w: option '%s'", ErrInvalid, text)
		}
	}
	o.Disable, o.Require = slices.Clone(o.Disable), slices.Clone(o.Require)
	for _, selectors := range [][]string{o.Disable, o.Require} {
		for i, selector := range selectors {
			parts := splitTrimmed(selector, "::")
			selectors[i] = strings.Join(parts, " :: ")
			check(isSelector(parts), selector)
		}
	}
	for _, name := range o.NamespacePriority {
		check(nameGrammar.MatchString(name), name)
	}
	for name, policy := range o.DevicePolicy {
		check(nameGrammar.MatchString(name), name)
		check(policy == PolicyAll || policy == PolicyAny || policy == PolicyFirst, string(policy))
	}
	for name, ids := range o.Devices {
		check(nameGrammar.MatchString(name) && !slices.Contains(ids, ""), name)
	}
	check(o.Label == "" || ReadableLabel(o.Label), o.Label)
	return o, err
}
