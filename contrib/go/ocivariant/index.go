// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Annotations of an index and of its entries.
const (
	AnnotationLabel      = "dev.ocivariant.label"
	AnnotationProperties = "dev.ocivariant.properties"
	AnnotationSchema     = "dev.ocivariant.schema"
	AnnotationNamespaces = "dev.ocivariant.namespaces"
	AnnotationStatic     = "dev.ocivariant.static."
	annotationReference  = "vnd.docker.reference.type"
)

// Providers report these namespaces, so that no index may define one as static.
var vocabulary = words("aarch64 amd ascend axelera blaize brainchip cambricon coral deepx dmatrix enflame etched " +
	"furiosa graphcore groq habana hailo hygon intel kunlunxin lightmatter loongarch64 memryx metax moorethreads " +
	"neuron nextsilicon nvidia ppc64le qualcomm rebellions riscv64 rockchip s390x sophgo tenstorrent tpu untether " +
	"vastai vulkan x86_64 xdna")

// Without a list in the index these namespaces come last, the processors' after the interfaces'.
var (
	apiNamespaces = words("vulkan")
	cpuNamespaces = words("aarch64 loongarch64 ppc64le riscv64 s390x x86_64")
)

func words(text string) map[string]bool {
	members := map[string]bool{}
	for _, word := range strings.Fields(text) {
		members[word] = true
	}
	return members
}

const (
	indexType          = "application/vnd.oci.image.index.v1+json"
	manifestType       = "application/vnd.oci.image.manifest.v1+json"
	dockerListType     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifestType = "application/vnd.docker.distribution.manifest.v2+json"
)

var (
	indexTypes    = []string{indexType, dockerListType}
	manifestTypes = []string{manifestType, dockerManifestType}
	// artifactType of real images: builders may repeat the configuration's type there
	imageArtifactTypes = append([]string{"", "application/vnd.oci.image.config.v1+json",
		"application/vnd.docker.container.image.v1+json"}, manifestTypes...)
	digestGrammar     = regexp.MustCompile(`^[a-z0-9]+([+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$`)
	registeredGrammar = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
)

// Descriptor has the fields of an OCI descriptor that matter for the choice.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Platform     *Platform         `json:"platform,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// Kind says what an entry is.
type Kind int

// A variant, the default "null", or an image without variant annotations; in this order they are taken.
const (
	KindVariant Kind = iota
	KindNull
	KindNonVariant
)

// Entry is one entry of an index. Of one without a proper descriptor the descriptor is empty.
type Entry struct {
	Descriptor
	Position   int        // place in the index, from 0
	Kind       Kind       // meaningful where Code is RejectNone
	Code       Code       // RejectNone, or why no host can use it
	Label      string     // "" without one, and where it is not readable
	Properties []Property // sorted, each once
	platform   Platform   // empty without one
}

func (e *Entry) reject(code Code) {
	if e.Code == RejectNone {
		e.Code = code
	}
}

// isUnfinished tells whether it is hidden, but has no annotations: a variant yet to be annotated.
func (e *Entry) isUnfinished() bool {
	return e.Kind == KindNonVariant && isHidden(e.platform.Variant)
}

// Index is a parsed image index.
type Index struct {
	Digest      string   // sha256 of the bytes
	Entries     []*Entry // all of them, unusable ones included
	Namespaces  []string // most important first
	HasVariants bool     // an entry has variant annotations, well-formed or not
	statics     []*Namespace
}

// ParseIndex parses an index or a Docker manifest list. contentType is what the registry called it, or "". A document
// that is not an index, or is over a limit, is [ErrData]. A malformed entry is kept with its code, and the rest of the
// index stands.
func ParseIndex(data []byte, contentType string) (*Index, error) {
	root, err := loadJSON("index", data, maxValues)
	if err != nil {
		return nil, err
	}
	f := newFields("index", root)
	checkIsIndex(f, contentType)
	manifests, annotations := f.list("manifests", maxEntries), f.object("annotations")
	index := &Index{Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data))}
	for i, value := range manifests {
		index.Entries = append(index.Entries, readEntry(f, i, value))
	}
	rejectDuplicateLabels(index.Entries)
	schema, present := annotations[AnnotationSchema]
	for _, entry := range index.Entries {
		index.HasVariants = index.HasVariants || entry.Kind != KindNonVariant
		if present && schema != "1" && entry.Kind != KindNonVariant {
			entry.reject(RejectSchema)
		}
	}
	readNamespaces(f, index, annotations)
	readStatics(f, index, annotations)
	if f.err != nil {
		return nil, f.err
	}
	return index, nil
}

// checkIsIndex lets the body decide; the content type can only contradict it.
func checkIsIndex(f *fields, contentType string) {
	said := lower(f.text("mediaType"))
	sent := lower(strings.Trim(strings.SplitN(contentType, ";", 2)[0], " \t"))
	if f.has("layers") || f.has("mediaType") && !slices.Contains(indexTypes, said) {
		f.fail("it is not an index")
	}
	if !f.has("manifests") && !f.has("mediaType") && !slices.Contains(indexTypes, sent) {
		f.fail("nothing says that it is an index")
	}
	if slices.Contains(manifestTypes, sent) || f.has("mediaType") && slices.Contains(indexTypes, sent) && sent != said {
		f.fail("it was sent as '%s'", sent)
	}
}

// readEntry reads one entry. What is wrong with all of the index goes to f.
func readEntry(f *fields, position int, value any) *Entry {
	entry := &Entry{Position: position, Kind: KindNonVariant}
	e := newFields("entry", value)
	annotations := e.object("annotations")
	readDescriptor(e, entry, annotations)
	if e.err != nil {
		return &Entry{Position: position, Kind: KindNonVariant, Code: RejectMalformed}
	}
	entry.Code = skipCode(entry, annotations)
	readVariant(f, entry, annotations)
	return entry
}

func readDescriptor(e *fields, entry *Entry, annotations object) {
	d := &entry.Descriptor
	d.MediaType, d.Digest, d.Annotations = e.text("mediaType"), e.text("digest"), map[string]string{}
	size, ok := e.members["size"].(int64)
	if !e.has("mediaType") || !WellFormedDigest(d.Digest) || !ok || size < 0 {
		e.fail("mediaType, digest or size is missing or malformed")
	}
	d.Size = size
	d.ArtifactType, _ = e.members["artifactType"].(string)
	for key, value := range annotations {
		if text, ok := value.(string); ok {
			d.Annotations[key] = text
		}
	}
	if e.has("platform") {
		entry.platform = readPlatform(e)
		d.Platform = &entry.platform
	}
}

func readPlatform(e *fields) Platform {
	p := newFields("platform", e.members["platform"])
	platform := Platform{OS: p.text("os"), Architecture: p.text("architecture"), Variant: p.text("variant"),
		OSVersion: p.text("os.version"), OSFeatures: p.texts("os.features", maxDocument)}
	slices.Sort(platform.OSFeatures) // a set: two entries with the same ones are easy to find
	if p.err != nil {
		e.fail("%v", p.err)
	}
	return platform
}

// skipCode is the code of an entry that is not an image, whatever its annotations say.
func skipCode(entry *Entry, annotations object) Code {
	_, attestation := annotations[annotationReference]
	switch {
	case attestation:
		return RejectAttestation
	case slices.Contains(indexTypes, entry.MediaType):
		return RejectNested
	case !slices.Contains(manifestTypes, entry.MediaType):
		return RejectMediaType
	case !slices.Contains(imageArtifactTypes, entry.ArtifactType):
		return RejectArtifact
	case entry.platform.OS == "unknown" && entry.platform.Architecture == "unknown":
		return RejectUnknownPlatform
	case !KnownDigest(entry.Digest):
		return RejectDigestAlgorithm
	}
	return RejectNone
}

// readVariant reads label and properties. What is wrong with all of the index goes to f.
func readVariant(f *fields, entry *Entry, annotations object) {
	label, text := annotations[AnnotationLabel], annotations[AnnotationProperties]
	if label == nil && text == nil {
		return
	}
	entry.Kind = KindVariant
	name, _ := label.(string)
	switch {
	case label == nil:
		entry.reject(RejectLabelMissing)
	case !ReadableLabel(name):
		entry.reject(RejectBadLabel)
	default:
		entry.Label = name
		entry.reject(readProperties(f, entry, text))
		if entry.Code == RejectNone && name == "null" {
			entry.Kind = KindNull
		}
	}
}

// readProperties reads the properties of an entry with a label. It returns the code of what is wrong with them.
func readProperties(f *fields, entry *Entry, list any) Code {
	text, isText := list.(string)
	switch {
	case list == nil:
		return RejectPropertiesMissing
	case !isText:
		return RejectBadProperties
	case strings.Count(text, ",") >= maxProperties:
		f.fail("entry %d has more than %d properties", entry.Position, maxProperties)
		return RejectBadProperties
	case len(text) > maxPropertiesBytes:
		return RejectTooLong
	}
	properties, err := ParseProperties(text)
	entry.Properties = properties
	switch {
	case err != nil:
		return RejectBadProperties
	case entry.Label == "null" && len(properties) > 0:
		return RejectNullWithProperties
	case entry.Label != "null" && len(properties) == 0:
		return RejectEmptyNotNull
	}
	return RejectNone
}

// rejectDuplicateLabels rejects all entries of a label that stands twice on a platform: nothing tells them apart.
func rejectDuplicateLabels(entries []*Entry) {
	groups := map[string][]*Entry{}
	for _, e := range entries {
		if e.Label != "" && e.Code == RejectNone {
			p := e.platform
			key := fmt.Sprintf("%q", append([]string{e.Label, p.OS, p.Architecture, p.OSVersion,
				normalVariant(p)}, p.OSFeatures...))
			groups[key] = append(groups[key], e)
		}
	}
	for _, group := range groups {
		for _, entry := range group {
			if len(group) > 1 {
				entry.reject(RejectDuplicateLabel)
			}
		}
	}
}

// readNamespaces gives the index its order of namespaces: the listed one, or that of all that are in use.
func readNamespaces(f *fields, index *Index, annotations object) {
	used := usedNamespaces(index.Entries)
	if len(used) > maxIndexNamespaces {
		f.fail("it uses more than %d namespaces", maxIndexNamespaces)
	}
	list, declared := annotations[AnnotationNamespaces]
	if !declared {
		index.Namespaces = used
		return
	}
	text, _ := list.(string)
	seen := map[string]bool{}
	for _, name := range listPieces(text) {
		if nameGrammar.MatchString(name) && !seen[name] {
			seen[name] = true
			index.Namespaces = append(index.Namespaces, name)
		}
	}
	if len(seen) > maxIndexNamespaces {
		f.fail("it lists more than %d namespaces", maxIndexNamespaces)
	}
}

// usedNamespaces lists the namespaces of all properties: most of them, then those of interfaces, then those of
// processors, each in lexical order.
func usedNamespaces(entries []*Entry) []string {
	var used []string
	seen := map[string]bool{}
	for _, entry := range entries {
		for _, property := range entry.Properties {
			if !seen[property.Namespace] {
				seen[property.Namespace] = true
				used = append(used, property.Namespace)
			}
		}
	}
	slices.Sort(used)
	slices.SortStableFunc(used, func(a, b string) int { return namespaceTurn(a) - namespaceTurn(b) })
	return used
}

func namespaceTurn(namespace string) int {
	switch {
	case cpuNamespaces[namespace]:
		return 2
	case apiNamespaces[namespace]:
		return 1
	}
	return 0
}

// readStatics reads the namespaces that the index itself defines; what is not one is ignored.
func readStatics(f *fields, index *Index, annotations object) {
	for key, value := range annotations {
		name, isStatic := strings.CutPrefix(key, AnnotationStatic)
		text, isText := value.(string)
		if isStatic && isText && nameGrammar.MatchString(name) && !vocabulary[name] {
			index.statics = append(index.statics, &Namespace{Name: name, Features: readStatic(text)})
		}
	}
	if len(index.statics) > maxStatics {
		f.fail("it has more than %d static namespaces", maxStatics)
	}
}

// readStatic returns no feature for a malformed list: better no variant than one ranked by half a list.
func readStatic(text string) []Feature {
	var features []Feature
	pieces := listPieces(text)
	if len(pieces) > maxStaticValues {
		return nil
	}
	for _, piece := range pieces {
		parts := splitTrimmed(piece, "::")
		if len(parts) != 2 || !nameGrammar.MatchString(parts[0]) || !valueGrammar.MatchString(parts[1]) {
			return nil
		}
		feature := findFeature(features, parts[0])
		if feature == nil {
			features = append(features, newFeature(parts[0]))
			feature = &features[len(features)-1]
		}
		feature.add(parts[1])
	}
	return features
}

// WellFormedDigest tells whether the text has a digest's form, also of an algorithm that is not known here.
func WellFormedDigest(digest string) bool {
	registered := strings.HasPrefix(digest, "sha256:") || strings.HasPrefix(digest, "sha512:")
	return len(digest) <= maxDigest && digestGrammar.MatchString(digest) && (!registered || KnownDigest(digest))
}

// KnownDigest tells whether it is a sha256 or sha512 digest, against which content can be checked.
func KnownDigest(digest string) bool {
	return registeredGrammar.MatchString(digest)
}
