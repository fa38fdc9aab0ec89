// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

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
