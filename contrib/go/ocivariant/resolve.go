// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"math"
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

// Decision is the answer of [Resolve]. Every entry of the index is either in the order or rejected.
type Decision struct {
	Order    []*Entry // that fit, best first
	Rejected []Rejection
}

// Selected returns the chosen entry, or nil if nothing fits.
func (d *Decision) Selected() *Entry {
	if len(d.Order) == 0 {
		return nil
	}
	return d.Order[0]
}

// Comparer orders descriptors of one index as a decision does, for clients that pick from the index by themselves.
type Comparer struct {
	worth map[string]int // by digest, 0 for what does not fit
}

// Comparer returns the order of the decision as a comparer.
func (d *Decision) Comparer() Comparer {
	worth := map[string]int{}
	for i, entry := range d.Order {
		worth[entry.Digest] = max(worth[entry.Digest], len(d.Order)-i)
	}
	return Comparer{worth}
}

// Match tells whether the host runs the image of the descriptor.
func (c Comparer) Match(descriptor Descriptor) bool { return c.worth[descriptor.Digest] > 0 }

// Less tells whether a is better than b. What does not fit is worse than all that does.
func (c Comparer) Less(a, b Descriptor) bool { return c.worth[a.Digest] > c.worth[b.Digest] }

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

// request is what is asked of each entry.
type request struct {
	index      *Index
	profile    *Profile
	options    Options
	platform   Platform
	foreign    bool // Options.Platform is another machine than the profile's
	plain      bool // the label null is asked for, and no entry has it
	namespaces map[string]*hostNamespace
}

// Resolve chooses an entry of the index for the host of the profile. That nothing fits is no error. Bad options, and no
// platform in profile and options, are [ErrInvalid].
func Resolve(index *Index, profile *Profile, options Options) (_ *Decision, err error) {
	defer catch(&err, ErrInvalid, "options")
	r := &request{index: index, profile: profile, options: options.normal(), namespaces: map[string]*hostNamespace{}}
	r.choosePlatform()
	r.plain = options.Label == "null" && !slices.ContainsFunc(index.Entries, func(entry *Entry) bool {
		_, _, code := r.placeOf(entry)
		return entry.Kind == KindNull && code == RejectNone
	})
	decision, keys := &Decision{}, map[*Entry][]int{}
	for _, entry := range index.Entries {
		key, why := r.consider(entry)
		if why.Code != RejectNone {
			why.Entry = entry
			decision.Rejected = append(decision.Rejected, why)
			continue
		}
		keys[entry] = key
		decision.Order = append(decision.Order, entry)
	}
	slices.SortStableFunc(decision.Order, func(a, b *Entry) int {
		return cmp.Or(slices.Compare(keys[a], keys[b]), strings.Compare(a.Label, b.Label),
			// of twins in other formats the one that uses more of this host
			cmp.Compare(len(b.platform.OSFeatures), len(a.platform.OSFeatures)))
	})
	return decision, nil
}

// choosePlatform takes the profile's platform, or the one asked for, lowered to what the host can run.
func (r *request) choosePlatform() {
	own, asked := r.profile.Platform, r.options.Platform
	check(asked != nil || r.profile.named, "the profile names no platform")
	r.platform = own
	switch {
	case asked == nil:
	case !r.profile.named:
		r.platform = *asked
		r.platform.OSFeatures = own.OSFeatures
	case own.normal().Architecture != asked.normal().Architecture || asked.OS != "" && asked.OS != own.OS:
		r.platform = *asked
		r.foreign = true
	default:
		_, code := MatchPlatform(own, *asked)
		if code == RejectNone && asked.Variant != "" {
			r.platform.Variant = asked.Variant
		}
	}
}

// placeOf is where the entry's platform stands on this host: architecture is 0 for the host's own one, 1 for the
// compatible one, and 2 for an entry without platform and annotations. The code says what rules the entry out.
func (r *request) placeOf(entry *Entry) (architecture, place int, code Code) {
	platform := entry.platform
	isBare := platform.OS == "" && platform.Architecture == ""
	if isBare {
		platform = r.platform
	}
	place, code = MatchPlatform(r.platform, platform)
	switch {
	case isBare && entry.Label == "":
		architecture = 2
	case platform.normal().Architecture != r.platform.normal().Architecture:
		architecture = 1
	}
	isForeign := r.foreign && entry.Kind == KindVariant
	return architecture, place, cmp.Or(entry.Code, code, when(isForeign, RejectForeignArchitecture))
}

// consider returns the sort key of the entry, or says why it does not fit.
func (r *request) consider(entry *Entry) (key []int, why Rejection) {
	architecture, place, code := r.placeOf(entry)
	if code != RejectNone {
		return nil, Rejection{Code: code}
	}
	parts, why := r.fit(entry)
	if why.Code != RejectNone {
		return nil, why
	}
	for _, item := range r.options.Require {
		if !slices.ContainsFunc(entry.Properties, func(p Property) bool { return r.meets(item, p) }) {
			return nil, Rejection{Code: RejectRequirement, Required: item}
		}
	}
	kind := entry.Kind
	if kind == KindNonVariant && isHidden(entry.platform.Variant) {
		kind = kindUnfinished
	}
	label := r.options.Label
	if label != "" && label != entry.Label && !(r.plain && kind == KindNonVariant) {
		return nil, Rejection{Code: RejectNotRequested}
	}
	// The number behind the parts lets the longer of two keys beat its own beginning.
	return slices.Concat([]int{architecture, int(kind)}, slices.Concat(parts...), []int{math.MaxInt, place}), why
}
