// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"slices"
	"strings"
	"testing"
)

func FuzzParseIndex(f *testing.F) {
	f.Add(indexOf("gpu", "a|gpu :: arch :: 90|linux/amd64/x-a", "null||linux/amd64", "||linux/arm64"))
	f.Add([]byte(`{"manifests": [{"size": 1, "platform": {"os.features": ["a"]}}], "annotations": {"dev.ocivariant.static.p": "o :: 1"}}`))
	profile, _ := ParseProfile([]byte(profileText))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, err := ParseIndex(data, "")
		if err != nil {
			return
		}
		for _, policy := range []Policy{PolicyAll, PolicyAny, PolicyFirst} {
			decision, err := Resolve(index, profile, Options{DevicePolicy: map[string]Policy{"gpu": policy}})
			if err != nil || len(decision.Order)+len(decision.Rejected) != len(index.Entries) {
				t.Fatalf("%v: an entry is lost", err)
			}
		}
	})
}

func FuzzParseProperty(f *testing.F) {
	f.Add("nvidia :: sm_arch :: 90_real")
	f.Add(" a::b::c.d ")
	f.Fuzz(func(t *testing.T, text string) {
		property, err := ParseProperty(text)
		if err != nil {
			return
		}
		again, err := ParseProperties(property.String() + "," + text)
		if err != nil && len(text) < 1000 || err == nil && !slices.Equal(again, []Property{property}) {
			t.Fatalf("%q: %v %v", text, again, err)
		}
	})
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(profileText))
	index, _ := ParseIndex(indexOf("gpu", "a|gpu :: arch :: 90|linux/amd64/x-a", "null||linux/amd64", "||linux/arm64"), "")
	f.Fuzz(func(t *testing.T, data []byte) {
		profile, err := ParseProfile(data)
		if err != nil {
			return
		}
		decision, err := Resolve(index, profile, Options{})
		if err == nil && len(decision.Order)+len(decision.Rejected) != len(index.Entries) {
			t.Fatal("an entry is lost")
		}
	})
}

func FuzzParseReference(f *testing.F) {
	f.Add("app")
	f.Add("localhost:5000/a__b/c:1.0@sha256:" + strings.Repeat("0", 64))
	f.Fuzz(func(t *testing.T, text string) {
		reference, err := ParseReference(text)
		if err != nil {
			return
		}
		if again, err := ParseReference(reference.String()); err != nil || again != reference || len(text) > 1024 {
			t.Fatalf("%q: %v %v %v", text, reference, again, err)
		}
	})
}
