// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

type object = map[string]any

// Escapes that are well, and of the others those that are not: U+0000 and halves of surrogate pairs.
var (
	goodEscape = regexp.MustCompile(`\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	badEscape  = regexp.MustCompile(`\\u(?:0000|[dD][89a-fA-F])`)
)

// jsonReader makes a tree of values and keeps the first error. It counts the values before it makes them: a tree of
// small values takes much more memory than its text.
type jsonReader struct {
	decoder *json.Decoder
	left    int
	err     error
}

// loadJSON reads one object. It refuses what encoding/json lets pass: duplicate keys, text that is not UTF-8, halves
// of surrogate pairs, U+0000 and numbers out of range. Members that are null are left out, at every level.
func loadJSON(what string, data []byte, values int) (object, error) {
	if len(data) > maxDocument {
		return nil, dataError("%s is larger than %d bytes", what, maxDocument)
	}
	escaped := bytes.IndexByte(data, '\\') >= 0
	if !utf8.Valid(data) || !json.Valid(data) || escaped && badEscape.Match(goodEscape.ReplaceAll(data, []byte(" "))) {
		return nil, dataError("%s is not valid JSON", what)
	}
	reader := jsonReader{decoder: json.NewDecoder(bytes.NewReader(data)), left: values - 1}
	reader.decoder.UseNumber()
	value := reader.read(1)
	root, ok := value.(object)
	if reader.err == nil && !ok {
		return nil, dataError("%s is not a JSON object", what)
	}
	return root, reader.err
}

func (r *jsonReader) fail(what string) {
	if r.err == nil {
		r.err = dataError("JSON has %s", what)
	}
}

func (r *jsonReader) take(values int) {
	if r.left -= values; r.left < 0 {
		r.fail("too many values")
	}
}

func (r *jsonReader) read(depth int) any {
	token, err := r.decoder.Token()
	if err != nil || depth > maxDepth {
		r.fail("too many levels")
		return nil
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return r.readObject(depth)
		}
		return r.readList(depth)
	case json.Number:
		return r.readNumber(token.String())
	}
	return token
}

func (r *jsonReader) readObject(depth int) object {
	members, seen := object{}, map[any]bool{}
	for r.take(3); r.err == nil && r.decoder.More(); {
		if len(seen) > 0 {
			r.take(1) // for the comma
		}
		key := r.read(0)
		if seen[key] {
			r.fail("a duplicate key")
		}
		seen[key] = true
		if value := r.read(depth + 1); value != nil && r.err == nil {
			members[key.(string)] = value
		}
	}
	r.decoder.Token()
	return members
}

func (r *jsonReader) readList(depth int) []any {
	items := []any{}
	for r.take(1); r.err == nil && r.decoder.More(); {
		if len(items) > 0 {
			r.take(1)
		}
		items = append(items, r.read(depth+1))
	}
	r.decoder.Token()
	return items
}

// readNumber returns an int64 for a whole number.
func (r *jsonReader) readNumber(text string) any {
	if strings.ContainsAny(text, ".eE") {
		fraction, _ := strconv.ParseFloat(text, 64)
		if math.IsInf(fraction, 0) {
			r.fail("a number out of range")
		}
		return fraction
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail("a number out of range")
	}
	return whole
}

// fields reads the members of one object and keeps the first error.
type fields struct {
	what    string
	members object
	err     error
}

func newFields(what string, value any) *fields {
	members, ok := value.(object)
	f := &fields{what: what, members: members}
	if !ok {
		f.fail("it is not an object")
	}
	return f
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = dataError(f.what+": "+format, args...)
	}
}

func (f *fields) has(key string) bool {
	_, present := f.members[key]
	return present
}

// text returns a string member, "" for one that is absent.
func (f *fields) text(key string) string {
	return member[string](f, key, "a string")
}

// object returns an object member, an empty one for one that is absent.
func (f *fields) object(key string) object {
	return member[object](f, key, "an object")
}

// list returns a list member, an empty one for one that is absent. More items than most are an error.
func (f *fields) list(key string, most int) []any {
	list := member[[]any](f, key, "a list")
	if len(list) > most {
		f.fail("'%s' has more than %d members", key, most)
	}
	return list
}

func member[T any](f *fields, key, kind string) T {
	value, ok := f.members[key].(T)
	if f.has(key) && !ok {
		f.fail("'%s' is not %s", key, kind)
	}
	return value
}

// texts returns a list of strings.
func (f *fields) texts(key string, most int) []string {
	var texts []string
	for _, item := range f.list(key, most) {
		text, ok := item.(string)
		if !ok {
			f.fail("'%s' has a member that is not a string", key)
		}
		texts = append(texts, text)
	}
	return texts
}
