// SPDX-License-Identifier: LGPL-3.0-or-later

package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

type object = map[string]any

// TestVectors asks what the vectors ask. OCV_VECTORS names their directory.
func TestVectors(t *testing.T) {
	directory := os.Getenv("OCV_VECTORS")
	if directory == "" {
		directory = "../../../../../schema/spec/vectors"
	}
	files, _ := filepath.Glob(filepath.Join(directory, "*.jsonl"))
	if len(files) == 0 {
		t.Skipf("no vectors in %s", directory)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { checkFile(t, name) })
	}
}

func checkFile(t *testing.T, name string) {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, count := bufio.NewScanner(file), 0
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		vector := decode(t, lines.Bytes()).(object)
		var q question
		sent := expand(vector)
		if err := json.Unmarshal(encode(sent), &q); err != nil {
			t.Fatalf("%v: %v", vector["id"], err)
		}
		got := decode(t, encode(answerTo(q)))
		if want := makeStrings(vector["want"]); !reflect.DeepEqual(got, want) {
			t.Errorf("%v %v\n want %s\n got  %s", vector["id"], vector["rules"], encode(want), encode(got))
		}
		count++
	}
	if lines.Err() != nil || count == 0 {
		t.Errorf("%s: %d vectors, %v", name, count, lines.Err())
	}
}

// expand resolves the short forms of a vector (README.md of the vectors).
func expand(vector object) object {
	sent := object{"id": vector["id"], "kind": vector["kind"]}
	for key, value := range vector {
		switch key {
		case "text", "mediaType":
			sent[key] = makeStrings(value)
		case "host", "entry":
			sent[key] = expandPlatform(makeStrings(value))
		case "options":
			options := makeStrings(value).(object)
			if platform, given := options["platform"]; given {
				options["platform"] = expandPlatform(platform)
			}
			sent[key] = options
		case "index":
			sent["indexBase64"] = encode(expandIndex(makeStrings(value)))
		case "profile":
			profile, isObject := makeStrings(value).(object)
			if _, given := profile["platform"]; given {
				profile["platform"] = expandPlatform(profile["platform"])
			}
			sent["profileBase64"] = encode(profile)
			if !isObject {
				sent["profileBase64"] = encode(makeStrings(value))
			}
		case "indexText", "profileText":
			sent[strings.TrimSuffix(key, "Text")+"Base64"] = makeBytes(value)
		}
	}
	return sent
}

// decode keeps numbers as they are written: 1.0 is no whole number.
func decode(t *testing.T, text []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %.100s", err, text)
	}
	return value
}

func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func isMade(value object) bool {
	_, repeat := value["repeat"]
	_, times := value["times"]
	_, concat := value["concat"]
	_, bytes := value["hex"]
	return repeat && times || (concat || bytes) && len(value) == 1
}

func makeBytes(value any) []byte {
	made, isObject := value.(object)
	if !isObject {
		return []byte(value.(string))
	}
	if digits, ok := made["hex"].(string); ok {
		bytes, _ := hex.DecodeString(digits)
		return bytes
	}
	var parts [][]byte
	if list, ok := made["concat"].([]any); ok {
		for _, part := range list {
			parts = append(parts, makeBytes(part))
		}
		return bytes.Join(parts, nil)
	}
	times, _ := made["times"].(json.Number).Int64()
	for i := range times {
		part := makeBytes(made["repeat"])
		if made["number"] == true {
			part = bytes.ReplaceAll(part, []byte("#"), []byte(fmt.Sprint(i)))
		}
		parts = append(parts, part)
	}
	join, given := made["join"]
	if !given {
		join = ""
	}
	return bytes.Join(parts, makeBytes(join))
}

func makeStrings(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = makeStrings(value[i])
		}
	case object:
		if isMade(value) {
			return string(makeBytes(value))
		}
		for key := range value {
			value[key] = makeStrings(value[key])
		}
	}
	return value
}

func expandPlatform(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	parts := strings.Split(text, "+")
	platform := object{}
	for i, part := range strings.SplitN(parts[0], "/", 3) {
		platform[[]string{"os", "architecture", "variant"}[i]] = part
	}
	if len(parts) > 1 {
		platform["os.features"] = parts[1:]
	}
	return platform
}

// withAnnotations makes annotations of the keys that begin with "@", and resolves the platform.
func withAnnotations(item object) object {
	out := object{}
	for key, value := range item {
		if !strings.HasPrefix(key, "@") {
			out[key] = value
		}
	}
	for key, value := range item {
		if name, isShort := strings.CutPrefix(key, "@"); isShort {
			annotations, _ := out["annotations"].(object)
			if annotations == nil {
				annotations = object{}
			}
			annotations["dev.ocivariant."+name] = value
			out["annotations"] = annotations
		}
	}
	if platform, given := out["platform"]; given {
		out["platform"] = expandPlatform(platform)
	}
	return out
}

func expandIndex(value any) any {
	index, ok := value.(object)
	if !ok {
		return value
	}
	index = withAnnotations(index)
	setDefault(index, "schemaVersion", 2)
	setDefault(index, "mediaType", "application/vnd.oci.image.index.v1+json")
	manifests, _ := index["manifests"].([]any)
	for i := range manifests {
		if entry, ok := manifests[i].(object); ok {
			entry = withAnnotations(entry)
			setDefault(entry, "mediaType", "application/vnd.oci.image.manifest.v1+json")
			setDefault(entry, "digest", fmt.Sprintf("sha256:%064x", i))
			setDefault(entry, "size", 1000+i)
			manifests[i] = entry
		}
	}
	return index
}

func setDefault(members object, key string, value any) {
	if _, given := members[key]; !given {
		members[key] = value
	}
}
