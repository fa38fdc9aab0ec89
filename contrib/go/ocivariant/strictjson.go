// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"
)

// object is a JSON object without the members that are null.
type object = map[string]any

var (
	escapedMarks   = strings.NewReplacer(`\\`, " ", `\"`, " ")
	surrogatePairs = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	badEscape      = regexp.MustCompile(`\\u(?:0000|[dD][89a-fA-F])`) // U+0000 or half of a pair
	quoted         = regexp.MustCompile(`"[^"]*"`)
)

// loadJSON reads one object. It refuses what encoding/json lets pass: duplicate keys, text that is not UTF-8, halves
// of surrogate pairs, U+0000 and numbers out of range.
func loadJSON(data []byte, most int) object {
	check(len(data) <= maxDocument, "it is larger than %d bytes", maxDocument)
	check(utf8.Valid(data) && json.Valid(data), "it is not valid JSON")
	text := escapedMarks.Replace(string(data))
	hasBad := badEscape.MatchString(surrogatePairs.ReplaceAllString(text, " "))
	check(!hasBad, "it has U+0000 or half of a surrogate pair")
	// Values are counted before there is a tree: one of small values takes much more memory than its text.
	bare := quoted.ReplaceAllString(text, "")
	values := 1 + strings.Count(bare, ",") + strings.Count(bare, "[") + 3*strings.Count(bare, "{")
	check(values <= most, "it has more than %d values", most)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var root object
	check(decoder.Decode(&root) == nil && root != nil, "it is not a JSON object")
	// Of two members with one name the tree has one.
	check(clean(root, 1) == strings.Count(bare, ":"), "it has a duplicate key")
	return root
}

// clean takes members that are null off the tree, and gives numbers in it their type. It returns how many members the
// tree had.
func clean(value any, depth int) (members int) {
	check(depth <= maxDepth, "it has more than %d levels", maxDepth)
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			value[i] = number(item)
			members += clean(item, depth+1)
		}
	case object:
		members = len(value)
		for key, item := range value {
			value[key] = number(item)
			members += clean(item, depth+1)
		}
		maps.DeleteFunc(value, func(_ string, item any) bool { return item == nil })
	}
	return members
}

// number makes an int64 or float64 of what is one.
func number(value any) any {
	text, isNumber := value.(json.Number)
	if !isNumber {
		return value
	}
	whole, err := text.Int64()
	if err == nil {
		return whole
	}
	fraction, err := text.Float64()
	check(err == nil && strings.ContainsAny(text.String(), ".eE"), "it has a number out of range")
	return fraction
}

// get returns a member of the type, the zero value for one that is absent.
func get[T any](members object, key string) T {
	value, ok := members[key].(T)
	check(ok || members[key] == nil, "'%s' is not what it has to be", key)
	return value
}

// getList returns a member that is a list of the type, none for one that is absent.
func getList[T any](members object, key string, most int) []T {
	items := get[[]any](members, key)
	check(len(items) <= most, "'%s' has more than %d members", key, most)
	var values []T
	for _, item := range items {
		value, ok := item.(T)
		check(ok, "'%s' has a member that is not what it has to be", key)
		values = append(values, value)
	}
	return values
}
