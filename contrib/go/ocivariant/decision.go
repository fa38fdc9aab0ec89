// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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

// request is what is asked of each entry.
type request struct {
	host
	platform Platform
	foreign  bool // Options.Platform is another machine than the profile's
	plain    bool // the label null is asked for, and no entry has it
}

// candidate is an entry that fits, with what orders it.
type candidate struct {
	entry        *Entry
	architecture int // 0 own, 1 compatible, 2 without platform and annotations
	place        int // of the platform in the host's order
	key          []component
}

// Resolve chooses an entry of the index for the host of the profile. That nothing fits is no error. Bad options, and no
// platform in profile and options, are [ErrInvalid].
func Resolve(index *Index, profile *Profile, options Options) (*Decision, error) {
	options, err := options.normal()
	if err != nil {
		return nil, err
	}
	r := &request{host: host{index, profile, options, map[string]*hostNamespace{}}}
	if err := r.choosePlatform(); err != nil {
		return nil, err
	}
	r.plain = options.Label == "null" && !slices.ContainsFunc(index.Entries, r.offersNull)
	decision := &Decision{}
	var candidates []candidate
	for _, entry := range index.Entries {
		if one, why := r.consider(entry); why.Code == RejectNone {
			candidates = append(candidates, one)
		} else {
			decision.Rejected = append(decision.Rejected, r.explain(entry, why))
		}
	}
	slices.SortFunc(candidates, compareCandidates)
	for _, one := range candidates {
		decision.Order = append(decision.Order, one.entry)
	}
	return decision, nil
}

// choosePlatform takes the profile's platform, or the one asked for, lowered to what the host can run.
func (r *request) choosePlatform() error {
	own, asked := r.profile.Platform, r.options.Platform
	named := r.profile.named
	if asked == nil && !named {
		return fmt.Errorf("%w: the profile names no platform", ErrInvalid)
	}
	r.platform = own
	if asked == nil {
		return nil
	}
	if !named {
		r.platform = *asked
		r.platform.OSFeatures = own.OSFeatures
		return nil
	}
	if architectureTurn(own, *asked) != 0 || asked.OS != "" && asked.OS != own.OS {
		r.foreign = true
		r.platform = *asked
		return nil
	}
	if _, code := MatchPlatform(own, *asked); code == RejectNone && asked.Variant != "" {
		r.platform.Variant = asked.Variant
	}
	return nil
}

// placeOf is where the entry's platform stands on this host.
func (r *request) placeOf(entry *Entry) (architecture, place int, code Code) {
	if entry.platform.OS == "" && entry.platform.Architecture == "" {
		if entry.Label == "" {
			return 2, 0, RejectNone
		}
		return 0, 0, RejectNone
	}
	place, code = MatchPlatform(r.platform, entry.platform)
	return architectureTurn(r.platform, entry.platform), place, code
}

// offersNull tells whether the entry is a "null" that a request for that label takes.
func (r *request) offersNull(entry *Entry) bool {
	_, _, code := r.placeOf(entry)
	return entry.Code == RejectNone && entry.Kind == KindNull && code == RejectNone
}

// asksFor tells whether the label that is asked for, if any, is the entry's.
func (r *request) asksFor(entry *Entry) bool {
	if r.options.Label != "" && entry.Label == "" {
		return r.plain && !entry.isUnfinished()
	}
	return r.options.Label == "" || r.options.Label == entry.Label
}

// consider makes a candidate of the entry, or says why it is none.
func (r *request) consider(entry *Entry) (one candidate, why Rejection) {
	if entry.Code != RejectNone {
		return one, Rejection{Code: entry.Code}
	}
	architecture, place, code := r.placeOf(entry)
	if code != RejectNone {
		return one, Rejection{Code: code}
	}
	if entry.Kind == KindVariant && r.foreign {
		return one, Rejection{Code: RejectForeignArchitecture}
	}
	if why := r.checkFit(entry); why.Code != RejectNone {
		return one, why
	}
	if required := r.unmet(entry); required != "" {
		return one, Rejection{Code: RejectRequirement, Required: required}
	}
	if !r.asksFor(entry) {
		return one, Rejection{Code: RejectNotRequested}
	}
	return candidate{entry, architecture, place, r.keyOf(entry)}, why
}

// explain adds the entry, what it wants and what the host has.
func (r *request) explain(entry *Entry, why Rejection) Rejection {
	why.Entry = entry
	if why.Namespace == "" {
		return why
	}
	for _, p := range entry.Properties {
		if p.Namespace == why.Namespace && p.Feature == why.Feature {
			why.Wanted = append(why.Wanted, p.Value)
		}
	}
	s := r.slot(why.Namespace, why.Feature)
	ofDevice := func(d *Device) bool { return why.Device != "" && d.ID == why.Device }
	if l := max(slices.IndexFunc(s.devices, ofDevice), 0); l < len(s.lists) && s.lists[l] != nil {
		why.Have = s.lists[l].Values
	}
	return why
}

func compareCandidates(a, b candidate) int {
	order := cmp.Or(cmp.Compare(a.architecture, b.architecture), cmp.Compare(a.entry.Kind, b.entry.Kind),
		compareKeys(a.key, b.key))
	if order == 0 && a.entry.isUnfinished() != b.entry.isUnfinished() {
		order = 1
		if b.entry.isUnfinished() {
			order = -1
		}
	}
	order = cmp.Or(order, cmp.Compare(a.place, b.place))
	if a.entry.Label != "" && b.entry.Label != "" {
		order = cmp.Or(order, strings.Compare(a.entry.Label, b.entry.Label))
	}
	// of twins in other formats the one that uses more of this host
	return cmp.Or(order, cmp.Compare(len(b.entry.platform.OSFeatures), len(a.entry.platform.OSFeatures)),
		cmp.Compare(a.entry.Position, b.entry.Position))
}

// unmet is the first of Options.Require that an entry does not use, or "".
func (h *host) unmet(entry *Entry) string {
	for _, item := range h.options.Require {
		if !slices.ContainsFunc(entry.Properties, func(p Property) bool { return h.meets(item, p) }) {
			return item
		}
	}
	return ""
}

// meets tells whether the property is what is required, or, where a single value is, whether the devices of its
// namespace that count have that value.
func (h *host) meets(item string, p Property) bool {
	if strings.HasPrefix(p.String()+" :: ", item+" :: ") && h.supports(p) {
		return true
	}
	parts := strings.Split(item, " :: ")
	if len(parts) < 3 || parts[0] != p.Namespace {
		return false
	}
	ns, have := h.namespace(p.Namespace), 0
	for _, device := range ns.counted {
		feature := findFeature(device.Features, parts[1])
		if feature == nil {
			feature = findFeature(ns.listed.Features, parts[1])
		}
		if feature != nil && slices.Contains(feature.Values, parts[2]) {
			have++
		}
	}
	return have > 0 && (have == len(ns.counted) || ns.policy == PolicyAny)
}
