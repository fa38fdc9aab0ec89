# SPDX-License-Identifier: LGPL-3.0-or-later
"""Why an entry is not used: the codes that all implementations use. Expect codes of later versions."""

NONE = ""
PLATFORM = "platform"  # operating system or architecture differs
PLATFORM_VARIANT = "platform-variant"  # a vN above this machine
OS_FEATURES = "os-features"  # the host lacks one
UNKNOWN_PLATFORM = "unknown-platform"  # unknown/unknown
ATTESTATION = "attestation"  # vnd.docker.reference.type
ARTIFACT = "artifact"  # artifactType is not an image's
MEDIA_TYPE = "media-type"  # not an image manifest
NESTED = "nested"  # an index in the index
DIGEST_ALGORITHM = "digest-algorithm"  # not known here
LABEL_MISSING = "label-missing"  # properties without a label
PROPERTIES_MISSING = "properties-missing"  # a label without properties
BAD_LABEL = "bad-label"  # not 1 to 63 of a-z 0-9 _ .
BAD_PROPERTIES = "bad-properties"  # syntax
TOO_LONG = "too-long"  # more than 4,000 bytes of properties
DUPLICATE_LABEL = "duplicate-label"  # twice on a platform
NULL_WITH_PROPERTIES = "null-with-properties"  # null is the variant that has none
EMPTY_NOT_NULL = "empty-not-null"  # no property, and another label than null
SCHEMA = "schema"  # dev.ocivariant.schema is not 1
NAMESPACE_UNDECLARED = "namespace-undeclared"  # not in the index's list
NAMESPACE_UNSUPPORTED = "namespace-unsupported"  # the host has none of it
FEATURE_UNSUPPORTED = "feature-unsupported"  # the host has none of it
VALUE_UNSUPPORTED = "value-unsupported"  # the host has other values
DEVICE = "device"  # a device that counts is not served
NO_DEVICE = "no-device"  # no device is left to count
DISABLED = "disabled"  # by Options.disable
NOT_REQUESTED = "not-requested"  # Options.label names another
FOREIGN_ARCHITECTURE = "foreign-architecture"  # Options.platform is not the profile's machine
REQUIREMENT = "requirement"  # it fits, but Options.require is not met
MALFORMED = "malformed"  # no descriptor, or a platform of another shape
