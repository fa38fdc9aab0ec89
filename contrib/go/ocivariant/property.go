// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Property is one thing that an image needs or a host has.
type Property struct{ Namespace, Feature, Value string }

const whiteSpace = " \t\n\r\v\f" // that lists may have around their pieces

var (
	nameGrammar  = regexp.MustCompile(`^[a-z0-9_]+$`)
	valueGrammar = regexp.MustCompile(`^[a-z0-9_.]+$`)
	labelGrammar = regexp.MustCompile(`^[a-z0-9]+([._][a-z0-9]+)*$`)
	// A namespace, and may be a feature and a value of it.
	selectorGrammar = regexp.MustCompile(
		`^[\s\v]*([a-z0-9_]+)(?:[\s\v]*::[\s\v]*([a-z0-9_]+)(?:[\s\v]*::[\s\v]*([a-z0-9_.]+))?)?[\s\v]*$`)
	capitals = regexp.MustCompile(`[A-Z]+`)
)

// String returns the canonical form, "namespace :: feature :: value".
func (p Property) String() string { return p.Namespace + " :: " + p.Feature + " :: " + p.Value }

// ParseProperty parses "namespace :: feature :: value" with free white space. Anything else is [ErrData].
func ParseProperty(text string) (_ Property, err error) {
	defer catch(&err, ErrData, "property")
	return readProperty(text), nil
}

func readProperty(text string) Property {
	parts := selectorGrammar.FindStringSubmatch(text)
	check(parts != nil && parts[3] != "", "'%.100s' is not namespace :: feature :: value, in lower case", text)
	return Property{parts[1], parts[2], parts[3]}
}

// ParseProperties parses a list joined by commas. It returns the properties sorted, each once; a blank text is the
// empty list. More than 4,000 bytes, more than 512 properties or a bad one is [ErrData].
func ParseProperties(text string) (_ []Property, err error) {
	defer catch(&err, ErrData, "properties")
	check(len(text) <= maxPropertiesBytes, "they have more than %d bytes", maxPropertiesBytes)
	check(strings.Count(text, ",") < maxProperties, "there are more than %d", maxProperties)
	if strings.Trim(text, whiteSpace) == "" {
		return nil, nil
	}
	var properties []Property
	for _, piece := range strings.Split(text, ",") {
		properties = append(properties, readProperty(piece))
	}
	slices.SortFunc(properties, func(a, b Property) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Feature, b.Feature),
			strings.Compare(a.Value, b.Value))
	})
	return slices.Compact(properties), nil
}

// ReadableLabel tells whether readers accept the label: 1 to 63 of a-z 0-9 _ . but neither "." nor "..".
func ReadableLabel(label string) bool {
	return len(label) <= maxLabel && label != "." && label != ".." && valueGrammar.MatchString(label)
}

// ValidLabel tells whether writers may give the label: at most 48 characters, words of a-z 0-9 with one "." or "_"
// between two.
func ValidLabel(label string) bool {
	return len(label) <= 48 && labelGrammar.MatchString(label)
}

// lower changes ASCII letters alone.
func lower(text string) string { return capitals.ReplaceAllStringFunc(text, strings.ToLower) }
