// SPDX-License-Identifier: LGPL-3.0-or-later

// Package ocivariant chooses, from an OCI image index whose entries say what hardware they need, the entry for one
// machine. The machine is described by a profile, which variantd serves and "variantctl probe" prints.
//
//	index, err := ocivariant.ParseIndex(body, contentType)
//	profile, err := ocivariant.NewClient("").Profile(ctx)
//	decision, err := ocivariant.Resolve(index, profile, ocivariant.Options{})
//	if entry := decision.Selected(); entry != nil { pull(entry.Digest) }
//
// It makes the same choice as libocivariant, with the same limits and the same codes. An index in the index is not
// looked into: it is rejected as "nested". Nothing but [Client] does I/O. Indexes, profiles and decisions do not
// change, so that any number of goroutines may read them.
package ocivariant

import (
	"errors"
	"fmt"
)

// Errors that calls of this package wrap; tell them apart with [errors.Is].
var (
	ErrData     = errors.New("malformed data")   // an index, profile, property or answer, or one over a limit
	ErrInvalid  = errors.New("invalid argument") // such as bad options, or a profile without a platform
	ErrNotFound = errors.New("not found")        // an image that variantd cannot find, a socket without variantd
	ErrNetwork  = errors.New("no usable answer") // it came late, cut or with a fault of the server
)

// Code says why an entry is not used. Expect codes of later versions.
type Code string

// The codes that all implementations use.
const (
	RejectNone                 Code = ""
	RejectPlatform             Code = "platform"              // operating system or architecture differs
	RejectPlatformVariant      Code = "platform-variant"      // a vN above this machine
	RejectOSFeatures           Code = "os-features"           // the host lacks one
	RejectUnknownPlatform      Code = "unknown-platform"      // unknown/unknown
	RejectAttestation          Code = "attestation"           // vnd.docker.reference.type
	RejectArtifact             Code = "artifact"              // artifactType is not an image's
	RejectMediaType            Code = "media-type"            // not an image manifest
	RejectNested               Code = "nested"                // an index in the index
	RejectDigestAlgorithm      Code = "digest-algorithm"      // not known here
	RejectLabelMissing         Code = "label-missing"         // properties without a label
	RejectPropertiesMissing    Code = "properties-missing"    // a label without properties
	RejectBadLabel             Code = "bad-label"             // not 1 to 63 of a-z 0-9 _ .
	RejectBadProperties        Code = "bad-properties"        // syntax
	RejectTooLong              Code = "too-long"              // more than 4,000 bytes of properties
	RejectDuplicateLabel       Code = "duplicate-label"       // twice on a platform
	RejectNullWithProperties   Code = "null-with-properties"  // null is the variant that has none
	RejectEmptyNotNull         Code = "empty-not-null"        // no property, and another label than null
	RejectSchema               Code = "schema"                // dev.ocivariant.schema is not 1
	RejectNamespaceUndeclared  Code = "namespace-undeclared"  // not in the index's list
	RejectNamespaceUnsupported Code = "namespace-unsupported" // the host has none of it
	RejectFeatureUnsupported   Code = "feature-unsupported"   // the host has none of it
	RejectValueUnsupported     Code = "value-unsupported"     // the host has other values
	RejectDevice               Code = "device"                // a device that counts is not served
	RejectNoDevice             Code = "no-device"             // no device is left to count
	RejectDisabled             Code = "disabled"              // by Options.Disable
	RejectNotRequested         Code = "not-requested"         // Options.Label names another
	RejectForeignArchitecture  Code = "foreign-architecture"  // Options.Platform is not the profile's machine
	RejectRequirement          Code = "requirement"           // it fits, but Options.Require is not met
	RejectMalformed            Code = "malformed"             // no descriptor, or a platform of another shape
)

// when returns the code if it applies. Of several, cmp.Or takes the first one.
func when(applies bool, code Code) Code {
	if applies {
		return code
	}
	return RejectNone
}

// Limits on what comes from outside.
const (
	maxDocument          = 4 << 20   // bytes of an index or a profile
	maxValues            = 256 << 10 // values of an index; an object counts three times
	maxDepth             = 2048      // levels of JSON
	maxEntries           = 4096      // of an index
	maxProperties        = 512       // of an entry
	maxPropertiesBytes   = 4000      // of an entry's annotation; more rejects the entry
	maxLabel             = 63        // bytes
	maxDigest            = 135       // bytes
	maxIndexNamespaces   = 1024      // used or listed by an index
	maxStatics           = 16        // static namespaces of an index
	maxStaticValues      = 512       // of a static namespace
	maxProfileNamespaces = 256
	maxFeatures          = 4096  // of a namespace or device
	maxFeatureValues     = 65536 // of a feature
	maxDevices           = 1024  // of a namespace
	maxName              = 255   // bytes of host and path of a reference
)

// fault is what the parsers of this package panic with; those that callers see return it as an error.
type fault string

// check ends the parser that runs if something is not as it has to be.
func check(good bool, format string, args ...any) {
	if !good {
		panic(fault(fmt.Sprintf(format, args...)))
	}
}

// catch, deferred by a parser, returns what a check found as an error of the kind.
func catch(err *error, kind error, what string) {
	switch value := recover().(type) {
	case nil:
	case fault:
		*err = fmt.Errorf("%w: %s: %s", kind, what, string(value))
	default:
		panic(value)
	}
}
