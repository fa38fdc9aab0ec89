// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"regexp"
	"strconv"
	"strings"
)

// Reference is the name of an image. Tag or Digest may be "", but not both of them.
type Reference struct{ Host, Repository, Tag, Digest string }

var (
	hostSign    = regexp.MustCompile(`[.:A-Z]|^localhost$`)
	hostGrammar = regexp.MustCompile(
		`^(?:[a-zA-Z0-9]+(?:(?:\.|-+)[a-zA-Z0-9]+)*|\[[0-9a-fA-F:]{2,}\])(?::([0-9]{1,5}))?$`)
	// Path, tag and digest.
	restGrammar = regexp.MustCompile(`^([a-z0-9]+(?:(?:\.|__?|-+|/)[a-z0-9]+)*)(?::(\w[\w.-]{0,127}))?(?:@(.+))?$`)
	imageID     = regexp.MustCompile(`^[0-9a-f]{64}(?:[:@]|$)`)
)

// ParseReference parses a name as people write it, and completes it as Docker does. Bad text is [ErrInvalid].
func ParseReference(text string) (_ Reference, err error) {
	defer catch(&err, ErrInvalid, "reference")
	host, rest, found := strings.Cut(text, "/")
	if !found || !hostSign.MatchString(host) {
		check(!imageID.MatchString(text), "64 hexadecimal digits are the id of an image")
		host, rest = "docker.io", text
	}
	place, parts := hostGrammar.FindStringSubmatch(host), restGrammar.FindStringSubmatch(rest)
	check(place != nil && parts != nil, "'%.100s' is not [HOST/]PATH[:TAG][@DIGEST]", text)
	port, _ := strconv.Atoi(place[1])
	r := Reference{host, parts[1], parts[2], parts[3]}
	check(port <= 65535 && (r.Digest == "" || WellFormedDigest(r.Digest)), "'%.100s' has a bad port or digest", text)
	if hub := lower(host); hub == "index.docker.io" || hub == "registry-1.docker.io" {
		r.Host = "docker.io"
	}
	if r.Host == "docker.io" && !strings.Contains(r.Repository, "/") {
		r.Repository = "library/" + r.Repository
	}
	// With this, and the limits on tag and digest, the whole cannot have more than 1,024 bytes.
	check(len(r.Host)+1+len(r.Repository) <= maxName, "host and path have more than %d bytes", maxName)
	if r.Tag == "" && r.Digest == "" {
		r.Tag = "latest"
	}
	return r, nil
}

// String returns the complete form, HOST/REPOSITORY[:TAG][@DIGEST].
func (r Reference) String() string {
	text := r.Host + "/" + r.Repository
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}
