// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a JSON object without the members that are null.
type object map[string]any

var (
	escapedMarks   = strings.NewReplacer(`\\`, " ", `\"`, " ")
	surrogatePairs = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	badEscape      = regexp.MustCompile(`\\u(?:0000|[dD][89a-fA-F])`) // U+0000 or half of a pair
)

// loadJSON reads one object. It refuses what encoding/json lets pass: duplicate keys, text that is not UTF-8, halves
// of surrogate pairs, U+0000 and numbers out of range.
func loadJSON(data []byte, mostValues int) object {
	check(len(data) <= maxDocument, "it is larger than %d bytes", maxDocument)
	check(utf8.Valid(data) && json.Valid(data), "it is not valid JSON")
	text := escapedMarks.Replace(string(data))
	check(!badEscape.MatchString(surrogatePairs.ReplaceAllString(text, " ")), "it has U+0000 or half of a surrogate pair")
	check(countValues(text) <= mostValues, "it has more than %d values", mostValues)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	root, ok := readValue(decoder, 1).(object)
	check(ok, "it is not a JSON object")
	return root
}

// countValues is asked before there is a tree: one of small values takes much more memory than its text. The text has
// no quotes but those around strings.
func countValues(text string) int {
	count := 1
	for i, piece := range strings.Split(text, `"`) {
		if i%2 == 0 { // between two strings
			count += strings.Count(piece, ",") + strings.Count(piece, "[") + 3*strings.Count(piece, "{")
		}
	}
	return count
}

func readValue(decoder *json.Decoder, depth int) any {
	token, err := decoder.Token()
	check(err == nil && depth <= maxDepth, "it has more than %d levels", maxDepth)
	switch token {
	case json.Delim('{'):
		return readObject(decoder, depth)
	case json.Delim('['):
		items := []any{}
		for decoder.More() {
			items = append(items, readValue(decoder, depth+1))
		}
		decoder.Token() // the bracket that closes it
		return items
	}
	if number, ok := token.(json.Number); ok {
		return readNumber(number.String())
	}
	return token
}

func readObject(decoder *json.Decoder, depth int) object {
	members := object{}
	for decoder.More() {
		key := readValue(decoder, 0).(string)
		_, again := members[key]
		check(!again, "'%.60s' is twice in an object", key)
		members[key] = readValue(decoder, depth+1)
	}
	decoder.Token()
	maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
	return members
}

// readNumber returns an int64 for a whole number.
func readNumber(text string) any {
	if strings.ContainsAny(text, ".eE") {
		fraction, err := strconv.ParseFloat(text, 64)
		check(err == nil, "it has a number out of range")
		return fraction
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	check(err == nil, "it has a number out of range")
	return whole
}

// get returns a member of the type, the zero value for one that is absent.
func get[T any](members object, key string) T {
	value, ok := members[key].(T)
	check(ok || members[key] == nil, "'%s' is not what it has to be", key)
	return value
}

// list returns a member that is a list of the type, none for one that is absent.
func list[T any](members object, key string, most int) []T {
	items := get[[]any](members, key)
	check(len(items) <= most, "'%s' has more than %d members", key, most)
	var list []T
	for _, item := range items {
		value, ok := item.(T)
		check(ok, "'%s' has a member that is not what it has to be", key)
		list = append(list, value)
	}
	return list
}
