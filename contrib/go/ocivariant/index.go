// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
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

var (
	// Providers report these namespaces, so that no index may define one as static.
	vocabulary = strings.Fields("aarch64 amd ascend axelera blaize brainchip cambricon coral deepx dmatrix enflame " +
		"etched furiosa graphcore groq habana hailo hygon intel kunlunxin lightmatter loongarch64 memryx metax " +
		"moorethreads neuron nextsilicon nvidia ppc64le qualcomm rebellions riscv64 rockchip s390x sophgo " +
		"tenstorrent tpu untether vastai vulkan x86_64 xdna")
	// Without a list in the index these come last, in this order: interfaces, then processors.
	lastNamespaces = strings.Fields("vulkan aarch64 loongarch64 ppc64le riscv64 s390x x86_64")

	indexTypes = []string{"application/vnd.oci.image.index.v1+json",
		"application/vnd.docker.distribution.manifest.list.v2+json"}
	manifestTypes = []string{"application/vnd.oci.image.manifest.v1+json",
		"application/vnd.docker.distribution.manifest.v2+json"}
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
	kindUnfinished // hidden, but without annotations: a variant yet to be annotated
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
func ParseIndex(data []byte, contentType string) (_ *Index, err error) {
	defer catch(&err, ErrData, "index")
	root := loadJSON(data, maxValues)
	checkIsIndex(root, contentType)
	annotations, manifests := get[object](root, "annotations"), get[[]any](root, "manifests")
	check(len(manifests) <= maxEntries, "it has more than %d entries", maxEntries)
	index := &Index{Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), statics: readStatics(annotations)}
	for i, value := range manifests {
		index.Entries = append(index.Entries, readEntry(value, i))
	}
	rejectDuplicateLabels(index.Entries)
	schema := annotations[AnnotationSchema]
	for _, entry := range index.Entries {
		isVariant := entry.Kind != KindNonVariant
		index.HasVariants = index.HasVariants || isVariant
		entry.Code = cmp.Or(entry.Code, when(isVariant && schema != nil && schema != "1", RejectSchema))
	}
	index.Namespaces = readNamespaces(index.Entries, annotations[AnnotationNamespaces])
	return index, nil
}

// checkIsIndex lets the body decide; the content type can only contradict it.
func checkIsIndex(root object, contentType string) {
	said, typed := lower(get[string](root, "mediaType")), root["mediaType"] != nil
	before, _, _ := strings.Cut(contentType, ";")
	sent := lower(strings.Trim(before, " \t"))
	sentIndex := slices.Contains(indexTypes, sent)
	check(root["layers"] == nil && (!typed || slices.Contains(indexTypes, said)), "it is not an index")
	check(typed || sentIndex || root["manifests"] != nil, "nothing says that it is an index")
	check(!slices.Contains(manifestTypes, sent) && (!typed || !sentIndex || sent == said), "it was sent as '%s'", sent)
}

// readEntry reads one entry. What is wrong with all of the index ends the parser.
func readEntry(value any, position int) *Entry {
	entry := &Entry{Position: position, Kind: KindNonVariant, Code: RejectMalformed}
	annotations, err := readDescriptor(entry, value)
	if err != nil {
		return entry
	}
	label, properties := annotations[AnnotationLabel], annotations[AnnotationProperties]
	name, _ := label.(string)
	text, isText := properties.(string)
	if ReadableLabel(name) {
		entry.Label = name
		check(strings.Count(text, ",") < maxProperties, "entry %d has more than %d properties", position, maxProperties)
		entry.Properties, err = ParseProperties(text)
	}
	switch {
	case name == "null":
		entry.Kind = KindNull
	case label != nil || properties != nil:
		entry.Kind = KindVariant
	}
	entry.Code = cmp.Or(
		when(annotations[annotationReference] != nil, RejectAttestation),
		when(slices.Contains(indexTypes, entry.MediaType), RejectNested),
		when(!slices.Contains(manifestTypes, entry.MediaType), RejectMediaType),
		when(!slices.Contains(imageArtifactTypes, entry.ArtifactType), RejectArtifact),
		when(entry.platform.OS == "unknown" && entry.platform.Architecture == "unknown", RejectUnknownPlatform),
		when(!KnownDigest(entry.Digest), RejectDigestAlgorithm),
		when(label == nil && properties != nil, RejectLabelMissing),
		when(label != nil && entry.Label == "", RejectBadLabel),
		when(label != nil && properties == nil, RejectPropertiesMissing),
		when(properties != nil && !isText, RejectBadProperties),
		when(len(text) > maxPropertiesBytes, RejectTooLong),
		when(err != nil, RejectBadProperties),
		when(entry.Kind == KindNull && len(entry.Properties) > 0, RejectNullWithProperties),
		when(entry.Kind == KindVariant && len(entry.Properties) == 0, RejectEmptyNotNull))
	return entry
}

// readDescriptor reads descriptor and platform, and returns all annotations, also those that are no texts.
func readDescriptor(entry *Entry, value any) (annotations object, err error) {
	defer catch(&err, ErrData, "entry")
	members, _ := value.(object)
	annotations = get[object](members, "annotations")
	d := Descriptor{MediaType: get[string](members, "mediaType"), Digest: get[string](members, "digest")}
	size, isWhole := members["size"].(int64)
	check(members["mediaType"] != nil && WellFormedDigest(d.Digest) && isWhole && size >= 0,
		"mediaType, digest or size is missing or malformed")
	d.Size, d.Annotations = size, map[string]string{}
	d.ArtifactType, _ = members["artifactType"].(string)
	for key, value := range annotations {
		if text, ok := value.(string); ok {
			d.Annotations[key] = text
		}
	}
	if platform := get[object](members, "platform"); platform != nil {
		entry.platform = readPlatform(platform)
		d.Platform = &entry.platform
	}
	entry.Descriptor = d
	return annotations, nil
}

func readPlatform(members object) Platform {
	platform := Platform{OS: get[string](members, "os"), Architecture: get[string](members, "architecture"),
		Variant: get[string](members, "variant"), OSVersion: get[string](members, "os.version"),
		OSFeatures: getList[string](members, "os.features", maxDocument)}
	slices.Sort(platform.OSFeatures) // a set: two entries with the same ones are easy to find
	return platform
}

// rejectDuplicateLabels rejects all entries of a label that stands twice on a platform: nothing tells them apart.
func rejectDuplicateLabels(entries []*Entry) {
	first := map[string]*Entry{}
	for _, entry := range entries {
		if entry.Label == "" || entry.Code != RejectNone {
			continue
		}
		p := entry.platform
		p.Variant = p.normal().Variant
		key := fmt.Sprintf("%q %q", entry.Label, p)
		if other, again := first[key]; again {
			other.Code, entry.Code = RejectDuplicateLabel, RejectDuplicateLabel
			continue
		}
		first[key] = entry
	}
}

// readNamespaces returns the index's order of namespaces: the listed one, or that of all that are in use.
func readNamespaces(entries []*Entry, annotation any) []string {
	var used, listed []string
	for _, entry := range entries {
		for _, property := range entry.Properties {
			used = append(used, property.Namespace)
		}
	}
	slices.Sort(used)
	used = slices.Compact(used)
	slices.SortStableFunc(used, func(a, b string) int {
		return slices.Index(lastNamespaces, a) - slices.Index(lastNamespaces, b)
	})
	seen := map[string]bool{}
	text, _ := annotation.(string)
	for _, name := range strings.Split(text, ",") {
		name = strings.Trim(name, whiteSpace)
		if nameGrammar.MatchString(name) && !seen[name] {
			listed = append(listed, name)
			seen[name] = true
		}
	}
	check(max(len(used), len(listed)) <= maxIndexNamespaces, "it has more than %d namespaces", maxIndexNamespaces)
	if annotation == nil {
		return used
	}
	return listed
}

// readStatics reads the namespaces that the index itself defines; what is not one is ignored.
func readStatics(annotations object) []*Namespace {
	var statics []*Namespace
	for key, value := range annotations {
		name, isStatic := strings.CutPrefix(key, AnnotationStatic)
		text, isText := value.(string)
		if isStatic && isText && nameGrammar.MatchString(name) && !slices.Contains(vocabulary, name) {
			statics = append(statics, &Namespace{Name: name, Features: readStatic(name, text)})
		}
	}
	check(len(statics) <= maxStatics, "it has more than %d static namespaces", maxStatics)
	return statics
}

// readStatic returns no feature for a malformed list: better no variant than one ranked by half a list.
func readStatic(namespace, text string) []Feature {
	var features []Feature
	pieces := strings.Split(strings.TrimSuffix(strings.Trim(text, whiteSpace), ","), ",")
	for _, piece := range pieces {
		property, err := ParseProperty(namespace + "::" + piece)
		if err != nil || len(pieces) > maxStaticValues {
			return nil
		}
		i := featureIndex(features, property.Feature)
		if i < 0 {
			i = len(features)
			features = append(features, Feature{Name: property.Feature})
		}
		features[i].Values = append(features[i].Values, property.Value)
	}
	return features
}

// WellFormedDigest tells whether the text has a digest's form, also of an algorithm that is not known here.
func WellFormedDigest(digest string) bool {
	registered := strings.HasPrefix(digest, "sha256:") || strings.HasPrefix(digest, "sha512:")
	return len(digest) <= maxDigest && digestGrammar.MatchString(digest) && (!registered || KnownDigest(digest))
}

// KnownDigest tells whether it is a sha256 or sha512 digest, against which content can be checked.
func KnownDigest(digest string) bool { return registeredGrammar.MatchString(digest) }
