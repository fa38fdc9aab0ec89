// SPDX-License-Identifier: LGPL-3.0-or-later

// Command ocivariant-vectors answers test vectors (schema/spec/vectors/README.md, "Asking a program"): one question a
// line on standard input, one answer a line on standard output.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ocivariant/ocivariant/contrib/go/ocivariant"
)

type question struct {
	ID            json.RawMessage     `json:"id"`
	Kind          string              `json:"kind"`
	Text          string              `json:"text"`
	Host          ocivariant.Platform `json:"host"`
	Entry         ocivariant.Platform `json:"entry"`
	MediaType     string              `json:"mediaType"`
	Options       options             `json:"options"`
	Index         string              `json:"index"`
	IndexBase64   []byte              `json:"indexBase64"`
	Profile       string              `json:"profile"`
	ProfileBase64 []byte              `json:"profileBase64"`
}

// options tells an empty label, which is none of the format, from one that is not given.
type options struct {
	ocivariant.Options
	Label *string `json:"label"`
}

func (o options) given() ocivariant.Options {
	if o.Label != nil {
		o.Options.Label = cmp.Or(*o.Label, ".") // neither is a label
	}
	return o.Options
}

type answer map[string]any

// rejected is an entry that is out; only codes about a feature have a property.
type rejected struct {
	Entry    int             `json:"entry"`
	Code     ocivariant.Code `json:"code"`
	Property string          `json:"property,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "ocivariant-vectors:", err)
		os.Exit(1)
	}
}

func run() error {
	questions := bufio.NewReader(os.Stdin)
	decoder, encoder := json.NewDecoder(questions), json.NewEncoder(os.Stdout)
	for decoder.More() {
		var q question
		if err := decoder.Decode(&q); err != nil {
			return err
		}
		if err := encoder.Encode(answer{"id": q.ID, "answer": answerTo(q)}); err != nil {
			return err
		}
	}
	return nil
}

func answerTo(q question) answer {
	switch q.Kind {
	case "resolve":
		return resolve(q)
	case "properties":
		return properties(q.Text)
	case "label":
		return answer{"read": ocivariant.ReadableLabel(q.Text), "write": ocivariant.ValidLabel(q.Text)}
	case "hide":
		return answer{"variant": ocivariant.HiddenVariant(q.Text)}
	case "digest":
		return answer{"wellFormed": ocivariant.WellFormedDigest(q.Text), "known": ocivariant.KnownDigest(q.Text)}
	case "reference":
		return reference(q.Text)
	case "platform":
		if _, code := ocivariant.MatchPlatform(q.Host, q.Entry); code != ocivariant.RejectNone {
			return answer{"match": false, "code": code}
		}
		return answer{"match": true}
	}
	return answer{"error": "kind"}
}

func resolve(q question) answer {
	index, err := ocivariant.ParseIndex(document(q.Index, q.IndexBase64), q.MediaType)
	if err != nil {
		return answer{"error": "index"}
	}
	profile, err := ocivariant.ParseProfile(document(q.Profile, q.ProfileBase64))
	if err != nil {
		return answer{"error": "profile"}
	}
	decision, err := ocivariant.Resolve(index, profile, q.Options.given())
	if err != nil {
		return answer{"error": "options"}
	}
	order, out := []int{}, []rejected{}
	for _, entry := range decision.Order {
		order = append(order, entry.Position)
	}
	for _, why := range decision.Rejected {
		out = append(out, rejected{why.Entry.Position, why.Code, why.Property()})
	}
	return answer{"order": order, "rejected": out}
}

func properties(text string) answer {
	list, err := ocivariant.ParseProperties(text)
	if err != nil {
		return answer{"error": "properties"}
	}
	texts := []string{}
	for _, property := range list {
		texts = append(texts, property.String())
	}
	return answer{"properties": texts}
}

func reference(text string) answer {
	r, err := ocivariant.ParseReference(text)
	if err != nil {
		return answer{"error": "reference"}
	}
	parts := answer{"host": r.Host, "repository": r.Repository}
	if r.Tag != "" {
		parts["tag"] = r.Tag
	}
	if r.Digest != "" {
		parts["digest"] = r.Digest
	}
	return parts
}

// document is the text, or the bytes of one that is not UTF-8.
func document(text string, bytes []byte) []byte {
	if bytes != nil {
		return bytes
	}
	return []byte(text)
}
