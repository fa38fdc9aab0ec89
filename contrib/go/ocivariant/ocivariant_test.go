// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const digestOf = `"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1, "digest": "sha256:%064x"`

// indexOf makes an index of entries "LABEL|PROPERTIES|PLATFORM"; without a label it is a plain entry.
func indexOf(namespaces string, entries ...string) []byte {
	var list []string
	for i, entry := range entries {
		parts := strings.Split(entry, "|")
		text := fmt.Sprintf(digestOf, i)
		if parts[0] != "" {
			text += fmt.Sprintf(`, "annotations": {%q: %q, %q: %q}`, AnnotationLabel, parts[0], AnnotationProperties, parts[1])
		}
		if platform := strings.SplitN(parts[2], "/", 3); len(platform) > 1 {
			text += fmt.Sprintf(`, "platform": {"os": %q, "architecture": %q`, platform[0], platform[1])
			if len(platform) > 2 {
				text += fmt.Sprintf(`, "variant": %q`, platform[2])
			}
			text += "}"
		}
		list = append(list, "{"+text+"}")
	}
	return []byte(fmt.Sprintf(`{"annotations": {%q: %q}, "manifests": [%s]}`, AnnotationNamespaces, namespaces,
		strings.Join(list, ",")))
}

const profileText = `{"platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}, "namespaces": [
	{"namespace": "gpu", "features": [{"name": "arch", "values": ["90", "80"]}, {"name": "driver", "values": ["12"]}],
	 "devices": [{"id": "0000:3b:00.0", "uuid": "GPU-1", "features": [{"name": "arch", "values": ["90", "80"]}]},
	             {"id": "0000:5e:00.0", "features": [{"name": "arch", "values": ["80"]}]},
	             {"id": "0000:00:02.0", "secondary": true, "features": [{"name": "arch", "values": ["70"]}]}]},
	{"namespace": "x86_64", "features": [{"name": "level", "values": ["v3", "v2", "v1"]}]}]}`

func resolved(t *testing.T, index []byte, options Options) *Decision {
	t.Helper()
	parsed, err := ParseIndex(index, "")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := ParseProfile([]byte(profileText))
	if err != nil {
		t.Fatal(err)
	}
	decision, err := Resolve(parsed, profile, options)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

// summary is the order as places, and the codes of the others.
func summary(decision *Decision) string {
	var parts []string
	for _, entry := range decision.Order {
		parts = append(parts, fmt.Sprint(entry.Position))
	}
	for _, why := range decision.Rejected {
		parts = append(parts, fmt.Sprintf("%d:%s", why.Entry.Position, why.Code))
	}
	return strings.Join(parts, " ")
}

func TestResolve(t *testing.T) {
	index := indexOf("gpu, x86_64", "||linux/amd64", "a|gpu :: arch :: 90|linux/amd64/x-a", "b|gpu::arch::80|linux/amd64/x-b",
		"c|x86_64 :: level :: v2|linux/amd64/x-c", "d|npu :: arch :: 1|linux/amd64/x-d", "e|gpu :: arch :: 80, x86_64 :: level :: v3|",
		"f|gpu :: driver :: 13|linux/amd64", "||linux/arm64", "||linux/amd64/v4")
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"all devices have to be served", Options{}, "e b c 0"},
		{"one device is enough", Options{DevicePolicy: map[string]Policy{"gpu": PolicyAny}}, "e a b c 0"},
		{"the first device decides", Options{DevicePolicy: map[string]Policy{"gpu": PolicyFirst}}, "a e b c 0"},
		{"only one device", Options{Devices: map[string][]string{"gpu": {"GPU-1"}}}, "a e b c 0"},
		{"no device", Options{Devices: map[string][]string{"gpu": {"9"}}}, "c 0"},
		{"a disabled namespace", Options{Disable: []string{"gpu"}}, "c 0"},
		{"a disabled value", Options{Disable: []string{"gpu::arch::80"}}, "c 0"},
		{"a required feature", Options{Require: []string{"x86_64::level"}}, "e c"},
		{"the user's order", Options{NamespacePriority: []string{"x86_64"}}, "e c b 0"},
		{"a label", Options{Label: "c"}, "c"},
		{"the default", Options{Label: "null"}, "0"},
		{"another machine", Options{Platform: &Platform{OS: "linux", Architecture: "arm64"}}, "7"},
	}
	places := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			decision := resolved(t, index, test.options)
			var got []string
			for _, entry := range decision.Order {
				got = append(got, fmt.Sprint(entry.Position))
			}
			var want []string
			for _, word := range strings.Fields(test.want) {
				if place, isLabel := places[word]; isLabel {
					word = place
				}
				want = append(want, word)
			}
			if !slices.Equal(got, want) {
				t.Errorf("order %v, want %v: %s", got, want, summary(decision))
			}
			if len(decision.Order)+len(decision.Rejected) != 9 {
				t.Errorf("%s: an entry is lost", summary(decision))
			}
		})
	}
}

func TestRejection(t *testing.T) {
	index := indexOf("gpu", "a|gpu :: arch :: 70|linux/amd64")
	why := resolved(t, index, Options{}).Rejected[0]
	if why.Code != RejectDevice || why.Property() != "gpu :: arch" || why.Device != "0000:3b:00.0" ||
		!slices.Equal(why.Wanted, []string{"70"}) || !slices.Equal(why.Have, []string{"90", "80"}) {
		t.Errorf("%+v", why)
	}
}

func TestEntryCodes(t *testing.T) {
	tests := map[string]Code{
		`{"mediaType": "text/plain", "size": 1, "digest": "sha256:1"}`: RejectMalformed,
		`{"mediaType": "text/plain", "size": 1, "digest": "blake3:1"}`: RejectMediaType,
		`7`:                           RejectMalformed,
		`{DIGEST, "platform": "x"}`:   RejectMalformed,
		`{DIGEST, "platform": null}`:  RejectNone,
		`{DIGEST, "size": 1.0}`:       RejectMalformed,
		`{DIGEST, "annotations": []}`: RejectMalformed,
		`{DIGEST, "artifactType": "application/spdx+json"}`:                                                 RejectArtifact,
		`{DIGEST, "platform": {"os": "unknown", "architecture": "unknown"}}`:                                RejectUnknownPlatform,
		`{DIGEST, "annotations": {"vnd.docker.reference.type": "x"}}`:                                       RejectAttestation,
		`{DIGEST, "annotations": {"dev.ocivariant.label": "a"}}`:                                            RejectPropertiesMissing,
		`{DIGEST, "annotations": {"dev.ocivariant.properties": "a :: f :: 1"}}`:                             RejectLabelMissing,
		`{DIGEST, "annotations": {"dev.ocivariant.label": "A", "dev.ocivariant.properties": ""}}`:           RejectBadLabel,
		`{DIGEST, "annotations": {"dev.ocivariant.label": "a", "dev.ocivariant.properties": "a"}}`:          RejectBadProperties,
		`{DIGEST, "annotations": {"dev.ocivariant.label": "a", "dev.ocivariant.properties": ""}}`:           RejectEmptyNotNull,
		`{DIGEST, "annotations": {"dev.ocivariant.label": "null", "dev.ocivariant.properties": "a::f::1"}}`: RejectNullWithProperties,
	}
	for text, want := range tests {
		bare := strings.ReplaceAll(text, "DIGEST", fmt.Sprintf(digestOf, 0))
		if strings.Contains(text, `"size"`) && strings.Contains(text, "DIGEST") {
			bare = strings.Replace(bare, `"size": 1,`, "", 1)
		}
		index, err := ParseIndex([]byte(`{"manifests": [`+bare+`]}`), "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := index.Entries[0].Code; got != want {
			t.Errorf("%s: code %q, want %q", text, got, want)
		}
	}
}

func TestMalformedDocuments(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1)
	many := strings.Repeat("{},", maxEntries) + "{}"
	indexes := []string{"", "[]", "{", `{"manifests": {}}`, `{"layers": []}`, `{"manifests": [], "layers": []}`, `{"manifests": [], "a": 1, "a": 2}`,
		"{\"manifests\": [], \"a\": \"\xff\"}", `{"manifests": [], "a": "\u0000"}`, `{"manifests": [], "a": "\ud800"}`, `{"manifests": [], "a": "\udc00\ud800"}`,
		`{"manifests": [], "a": 9223372036854775808}`, `{"manifests": [], "a": 1e999}`, `{"manifests": [], "annotations": []}`,
		`{"manifests": [], "mediaType": "text/plain"}`, `{"manifests": []} x`, `{"manifests": [], "a": ` + deep + strings.Repeat("]", maxDepth+1) + `}`,
		`{"manifests": [` + many + `]}`, `{"manifests": [], "a": "` + strings.Repeat("a", maxDocument) + `"}`,
		`{"manifests": [], "a": [` + strings.Repeat("0,", maxValues) + `0]}`}
	for _, text := range indexes {
		if _, err := ParseIndex([]byte(text), ""); !errors.Is(err, ErrData) {
			t.Errorf("index %.60s: %v", text, err)
		}
	}
	profiles := []string{"", "[]", "{}", `{"namespaces": {}}`, `{"namespaces": [1]}`, `{"namespaces": [], "schema": "x"}`,
		`{"namespaces": [], "platform": 1}`, `{"namespaces": [{"namespace": "A"}]}`, `{"namespaces": [{"namespace": "a"}, {"namespace": "a"}]}`,
		`{"namespaces": [{"namespace": "a", "features": [{"name": "f"}, {"name": "f"}]}]}`,
		`{"namespaces": [{"namespace": "a", "features": [{"name": "f", "values": ["-"]}]}]}`,
		`{"namespaces": [{"namespace": "a", "devices": [1]}]}`, `{"namespaces": [{"namespace": "a", "devices": [{"id": 1}]}]}`}
	for _, text := range profiles {
		if _, err := ParseProfile([]byte(text)); !errors.Is(err, ErrData) {
			t.Errorf("profile %.60s: %v", text, err)
		}
	}
	for _, text := range []string{`{"manifests": null}`, `{"manifests": null, "mediaType": "x"}`} {
		if _, err := ParseIndex([]byte(text), "application/json"); !errors.Is(err, ErrData) {
			t.Errorf("index %s: %v", text, err)
		}
	}
	if _, err := ParseIndex([]byte(`{}`), "application/vnd.oci.image.index.v1+json; charset=utf-8"); err != nil {
		t.Errorf("an index without entries: %v", err)
	}
	if _, err := ParseIndex([]byte(`{"manifests": [], "a": "\\ud800\ud83d\ude00"}`), ""); err != nil {
		t.Errorf("escapes: %v", err)
	}
}

func TestOptionErrors(t *testing.T) {
	index, _ := ParseIndex([]byte(`{"manifests": []}`), "")
	profile, _ := ParseProfile([]byte(profileText))
	bare, _ := ParseProfile([]byte(`{"namespaces": []}`))
	bad := []Options{{Disable: []string{"A"}}, {Require: []string{"a::b::c::d"}}, {NamespacePriority: []string{"a b"}}, {Label: "."},
		{DevicePolicy: map[string]Policy{"a": "some"}}, {Devices: map[string][]string{"a": {""}}}}
	for _, options := range bad {
		if _, err := Resolve(index, profile, options); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", options, err)
		}
	}
	if _, err := Resolve(index, bare, Options{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no platform: %v", err)
	}
	if _, err := Resolve(index, bare, Options{Platform: &Platform{OS: "linux", Architecture: "amd64"}}); err != nil {
		t.Errorf("a given platform: %v", err)
	}
}

func TestProperties(t *testing.T) {
	tests := map[string]string{"": "", " \t": "", "b::f::1,a :: g::2 , a::f::x.y": "[a :: f :: x.y a :: g :: 2 b :: f :: 1]",
		"a::f::1,a::f::1": "[a :: f :: 1]", "a::f::1,": "error", "a:::f::1": "error", "a::f::1::2": "error", "A::f::1": "error",
		strings.Repeat("a::f::1,", 511) + "a::f::1": "error", strings.Repeat("a", 3995) + "::f::1": "error"}
	for text, want := range tests {
		properties, err := ParseProperties(text)
		got := fmt.Sprint(properties)
		if err != nil {
			got = "error"
		}
		if got != want && !(want == "" && got == "[]") {
			t.Errorf("%.40q: %.80s, want %s", text, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	tests := map[string][2]bool{"a": {true, true}, "cu12.8_x": {true, true}, "a..b": {true, false}, "_a": {true, false},
		".": {false, false}, "": {false, false}, "A": {false, false}, "a\n": {false, false}, strings.Repeat("a", 48): {true, true},
		strings.Repeat("a", 49): {true, false}, strings.Repeat("a", 64): {false, false}}
	for label, want := range tests {
		if got := [2]bool{ReadableLabel(label), ValidLabel(label)}; got != want {
			t.Errorf("%q: %v, want %v", label, got, want)
		}
	}
}

func TestMatchPlatform(t *testing.T) {
	tests := []struct {
		host, entry string
		place       int
		code        Code
	}{
		{"linux/amd64/v3", "linux/amd64/v3", 0, RejectNone}, {"linux/amd64/v3", "linux/x86_64", 2, RejectNone},
		{"linux/amd64/v3", "linux/amd64/v4", -1, RejectPlatformVariant}, {"linux/amd64", "linux/386", 0, RejectNone},
		{"linux/amd64", "windows/amd64", -1, RejectPlatform}, {"linux/amd64", "linux/arm64", -1, RejectPlatform},
		{"linux/arm64/v9.2", "linux/arm64/v8.7", 3, RejectNone}, {"linux/arm64/v8.2", "linux/arm64/v9", -1, RejectPlatformVariant},
		{"linux/arm64", "linux/arm/v6", 2, RejectNone}, {"linux/arm/v6", "linux/arm", -1, RejectPlatformVariant},
		{"linux/arm", "linux/arm/x-a", 0, RejectNone}, {"linux/riscv64/a", "linux/riscv64", 1, RejectNone},
	}
	for _, test := range tests {
		place, code := MatchPlatform(platformOf(test.host), platformOf(test.entry))
		if place != test.place || code != test.code {
			t.Errorf("%s on %s: %d %q, want %d %q", test.entry, test.host, place, code, test.place, test.code)
		}
	}
	format := Platform{OS: "linux", Architecture: "amd64", OSFeatures: []string{"f"}}
	if _, code := MatchPlatform(platformOf("linux/amd64"), format); code != RejectOSFeatures {
		t.Errorf("os.features: %q", code)
	}
}

func platformOf(text string) Platform {
	parts := append(strings.Split(text, "/"), "", "")
	return Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}
}

func TestReferences(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	id := strings.Repeat("a", 64)
	tests := map[string]string{
		"app":                                 "docker.io/library/app:latest",
		"me/app:1.0":                          "docker.io/me/app:1.0",
		"Index.Docker.io/app":                 "docker.io/library/app:latest",
		"registry-1.docker.io/library/app":    "docker.io/library/app:latest",
		"localhost/app":                       "localhost/app:latest",
		"localhost:5000/a/b":                  "localhost:5000/a/b:latest",
		"HOST/app":                            "HOST/app:latest",
		"[::1]:65535/app":                     "[::1]:65535/app:latest",
		"quay.io/a__b/c--d.e:T_1@" + digest:   "quay.io/a__b/c--d.e:T_1@" + digest,
		"app@" + digest:                       "docker.io/library/app@" + digest,
		"quay.io/" + id:                       "quay.io/" + id + ":latest",
		"quay.io/" + strings.Repeat("a", 247): "quay.io/" + strings.Repeat("a", 247) + ":latest",
		"quay.io/" + strings.Repeat("a", 248): "",
		"app:" + strings.Repeat("a", 129):     "",
		"":                                    "",
		"/app":                                "",
		"App":                                 "",
		"a//b":                                "",
		"a/":                                  "",
		"a___b":                               "",
		"a..b":                                "",
		"a:":                                  "",
		"a:-1":                                "",
		"a@":                                  "",
		"a@sha256:0":                          "",
		"a@" + digest + "@" + digest:          "",
		"host.:80/a":                          "",
		"host-.io/a":                          "",
		"host.io:65536/a":                     "",
		"[ab]/a":                              "",
		"https://quay.io/a":                   "",
		id:                                    "",
		id + ":1":                             "",
	}
	for text, want := range tests {
		reference, err := ParseReference(text)
		if want == "" && !errors.Is(err, ErrInvalid) || want != "" && (err != nil || reference.String() != want) {
			t.Errorf("%.80q: %v %v, want %q", text, reference, err, want)
		}
	}
}

func TestDeviceNames(t *testing.T) {
	device := Device{ID: "0000:3b:00.0", UUID: "GPU-Aa", Index: 2}
	for name, want := range map[string]bool{"2": true, "02": true, "3": false, "0000:3B:00.0": true, "00000000:3B:00.0": true, "3b:00.0": true,
		"gpu-aa": true, "": false, "00.0": false, "99999999999999999999": false} {
		if device.answersTo(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestComparer(t *testing.T) {
	index := indexOf("gpu, x86_64", "||linux/amd64", "a|gpu :: arch :: 80|linux/amd64/x-a", "b|gpu :: arch :: 60|linux/amd64/x-b")
	decision := resolved(t, index, Options{})
	comparer := decision.Comparer()
	plain, best, misfit := Descriptor{Digest: fmt.Sprintf("sha256:%064x", 0)}, Descriptor{Digest: fmt.Sprintf("sha256:%064x", 1)},
		Descriptor{Digest: fmt.Sprintf("sha256:%064x", 2)}
	if !comparer.Match(plain) || !comparer.Match(best) || comparer.Match(misfit) {
		t.Error("Match")
	}
	if !comparer.Less(best, plain) || comparer.Less(plain, best) || !comparer.Less(plain, misfit) || comparer.Less(misfit, plain) {
		t.Error("Less")
	}
}

func TestConcurrentUse(t *testing.T) {
	index, _ := ParseIndex(indexOf("gpu", "a|gpu :: arch :: 80|linux/amd64", "||linux/amd64"), "")
	profile, _ := ParseProfile([]byte(profileText))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			decision, err := Resolve(index, profile, Options{})
			if err != nil || summary(decision) != "0 1" {
				t.Errorf("%v %v", decision, err)
			}
		}()
	}
	group.Wait()
}

func TestClient(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ctx := context.Background()
	if _, err := NewClient(socket).Profile(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("nobody listens: %v", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	handler := http.NewServeMux()
	handler.HandleFunc("/v1/profile", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, profileText) })
	handler.HandleFunc("/v1/resolve", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("ref") {
		case "app:1.0":
			fmt.Fprint(w, `{"source": "index", "selected": {"label": null, "digest": "sha256:1", "size": 5}, "order": ["a"],
				"rejected": [{"code": "device", "property": "gpu :: arch"}]}`)
		case "bad":
			http.Error(w, `{"error": "no reference"}`, http.StatusBadRequest)
		case "late":
			http.Error(w, "", http.StatusBadGateway)
		case "odd":
			fmt.Fprint(w, "[")
		default:
			http.NotFound(w, r)
		}
	})
	server := http.Server{Handler: handler}
	go server.Serve(listener)
	defer server.Close()
	client := NewClient(socket)
	if profile, err := client.Profile(ctx); err != nil || profile.Platform.Variant != "v3" {
		t.Errorf("profile: %+v %v", profile, err)
	}
	answer, err := client.Resolve(ctx, "app:1.0")
	if err != nil || answer.Selected.Size != 5 || answer.Rejected[0].Code != RejectDevice {
		t.Errorf("resolve: %+v %v", answer, err)
	}
	for reference, want := range map[string]error{"none": ErrNotFound, "bad": ErrInvalid, "late": ErrNetwork, "odd": ErrData} {
		if _, err := client.Resolve(ctx, reference); !errors.Is(err, want) {
			t.Errorf("%s: %v", reference, err)
		}
	}
}
