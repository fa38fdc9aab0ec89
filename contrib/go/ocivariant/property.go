// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Property is one thing that an image needs or a host has.
type Property struct {
	Namespace, Feature, Value string
}

var (
	nameGrammar  = regexp.MustCompile(`^[a-z0-9_]+$`)
	valueGrammar = regexp.MustCompile(`^[a-z0-9_.]+$`)
	labelGrammar = regexp.MustCompile(`^[a-z0-9]+([._][a-z0-9]+)*$`)
)

// String returns the canonical form, "namespace :: feature :: value".
func (p Property) String() string {
	return p.Namespace + " :: " + p.Feature + " :: " + p.Value
}

func compareProperties(a, b Property) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Feature, b.Feature),
		strings.Compare(a.Value, b.Value))
}

// ParseProperty parses "namespace :: feature :: value" with free white space. Anything else is [ErrData].
func ParseProperty(text string) (Property, error) {
	parts := splitTrimmed(text, "::")
	if len(parts) != 3 || !isSelector(parts) {
		return Property{}, dataError("'%.100s' is not a property (namespace :: feature :: value, lower case)", text)
	}
	return Property{parts[0], parts[1], parts[2]}, nil
}

// ParseProperties parses a list joined by commas. It returns the properties sorted, each once; a blank text is the
// empty list. More than 4,000 bytes, more than 512 properties or a bad one is [ErrData].
func ParseProperties(text string) ([]Property, error) {
	if len(text) > maxPropertiesBytes || strings.Count(text, ",") >= maxProperties {
		return nil, dataError("more than %d bytes or %d properties", maxPropertiesBytes, maxProperties)
	}
	var properties []Property
	if trim(text) == "" {
		return properties, nil
	}
	for _, piece := range strings.Split(text, ",") {
		property, err := ParseProperty(piece)
		if err != nil {
			return nil, err
		}
		properties = append(properties, property)
	}
	slices.SortFunc(properties, compareProperties)
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

// isSelector tells whether the parts are a namespace, and may be a feature and a value of it.
func isSelector(parts []string) bool {
	for i, part := range parts {
		if i > 2 || i < 2 && !nameGrammar.MatchString(part) || i == 2 && !valueGrammar.MatchString(part) {
			return false
		}
	}
	return true
}

// trim takes the white space off that lists may have around their pieces.
func trim(text string) string {
	return strings.Trim(text, " \t\n\r\v\f")
}

func splitTrimmed(text, separator string) []string {
	pieces := strings.Split(text, separator)
	for i := range pieces {
		pieces[i] = trim(pieces[i])
	}
	return pieces
}

// listPieces splits at commas. Behind a final comma there is no piece.
func listPieces(text string) []string {
	text = trim(text)
	if text == "" {
		return nil
	}
	return splitTrimmed(strings.TrimSuffix(text, ","), ",")
}

// lower changes ASCII letters alone.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
