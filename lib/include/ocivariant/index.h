/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file index.h
 * Image indexes (image-spec image-index.md, Docker manifest list) and their variants
 * (schema/annotations.md).
 *
 * Ownership: the caller owns an index and frees it; entries, properties and texts are borrowed from
 * it. Thread safety: an index never changes, so any number of threads may read it.
 */
#ifndef OCIVARIANT_INDEX_H
#define OCIVARIANT_INDEX_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"
#include "ocivariant/platform.h"
#include "ocivariant/property.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCV_ANNOTATION_LABEL "dev.ocivariant.label"
#define OCV_ANNOTATION_PROPERTIES "dev.ocivariant.properties"
#define OCV_ANNOTATION_SCHEMA "dev.ocivariant.schema"
#define OCV_ANNOTATION_NAMESPACES "dev.ocivariant.namespaces"
#define OCV_ANNOTATION_STATIC "dev.ocivariant.static."

/** Why an entry is not used. Texts (ocv_reject_name) are a contract: append-only. */
enum ocv_reject {
    OCV_REJECT_NONE = 0,
    OCV_REJECT_PLATFORM,              /**< "platform": os or architecture differs */
    OCV_REJECT_PLATFORM_VARIANT,      /**< "platform-variant": vN above this machine */
    OCV_REJECT_OS_FEATURES,           /**< "os-features" */
    OCV_REJECT_UNKNOWN_PLATFORM,      /**< "unknown-platform": unknown/unknown */
    OCV_REJECT_ATTESTATION,           /**< "attestation": vnd.docker.reference.type */
    OCV_REJECT_ARTIFACT,              /**< "artifact": artifactType is not an image */
    OCV_REJECT_MEDIA_TYPE,            /**< "media-type": not an image manifest */
    OCV_REJECT_NESTED,                /**< "nested": an index in the index */
    OCV_REJECT_DIGEST_ALGORITHM,      /**< "digest-algorithm": not known here */
    OCV_REJECT_LABEL_MISSING,         /**< "label-missing": properties without label */
    OCV_REJECT_PROPERTIES_MISSING,    /**< "properties-missing": label without properties */
    OCV_REJECT_BAD_LABEL,             /**< "bad-label" */
    OCV_REJECT_BAD_PROPERTIES,        /**< "bad-properties": syntax */
    OCV_REJECT_TOO_LONG,              /**< "too-long": more than 4,000 bytes of properties */
    OCV_REJECT_DUPLICATE_LABEL,       /**< "duplicate-label": same label twice on a platform */
    OCV_REJECT_NULL_WITH_PROPERTIES,  /**< "null-with-properties" */
    OCV_REJECT_EMPTY_NOT_NULL,        /**< "empty-not-null": no property, label not `null` */
    OCV_REJECT_SCHEMA,                /**< "schema": unknown dev.ocivariant.schema */
    OCV_REJECT_NAMESPACE_UNDECLARED,  /**< "namespace-undeclared": not in the index's list */
    OCV_REJECT_NAMESPACE_UNSUPPORTED, /**< "namespace-unsupported": host has none of it */
    OCV_REJECT_FEATURE_UNSUPPORTED,   /**< "feature-unsupported" */
    OCV_REJECT_VALUE_UNSUPPORTED,     /**< "value-unsupported" */
    OCV_REJECT_DEVICE,                /**< "device": a counted device is not served */
    OCV_REJECT_NO_DEVICE,             /**< "no-device": no counted device left */
    OCV_REJECT_DISABLED,              /**< "disabled": by the user's configuration */
    OCV_REJECT_NOT_REQUESTED,         /**< "not-requested": --label names another */
    OCV_REJECT_FOREIGN_ARCHITECTURE,  /**< "foreign-architecture": a variant for another
                                           architecture than the profile's */
    OCV_REJECT_REQUIREMENT, /**< "requirement": it fits, but does not use what is required */
    OCV_REJECT_MALFORMED,   /**< "malformed": no descriptor, or a platform of another shape */
    OCV_REJECT_AMBIGUOUS,   /**< "ambiguous": one of several images that nothing tells apart */
    OCV_REJECT_DENIED,      /**< "denied": the user's configuration never takes it */
    OCV_REJECT_MAX
};
/** The code's text, e.g. "value-unsupported". Never NULL. */
OCV_API const char *ocv_reject_name(enum ocv_reject code);

/** A variant, the default `null`, or an image without variant annotations. */
enum ocv_entry_kind { OCV_ENTRY_VARIANT, OCV_ENTRY_NULL, OCV_ENTRY_NON_VARIANT };

/** One entry of an index, as read. Everything is borrowed from the index. */
struct ocv_entry {
    size_t position;          /**< place in `manifests`, from 0 */
    enum ocv_entry_kind kind; /**< meaningful when code is OCV_REJECT_NONE */
    enum ocv_reject code;     /**< OCV_REJECT_NONE, or why no host can use it */
    const char *detail;       /**< for a malformed entry: what is wrong; else NULL */
    const char *label;        /**< NULL for a non-variant, and where it is not readable */
    const char *media_type;
    const char *digest;
    int64_t size;
    bool has_platform;
    struct ocv_platform platform;
    const uint32_t *properties; /**< ids for ocv_index_property, in canonical order */
    size_t n_properties;
};

struct ocv_index;
/** Parse index bytes. `media_type`: Content-Type or NULL. The bytes may be freed afterwards.
 *  Not an index, duplicate keys, over a limit: OCV_ERR_DATA. Malformed entries are kept with their
 *  code; those without a proper descriptor have empty texts and no size. */
OCV_API int ocv_index_parse(const void *bytes, size_t len, const char *media_type,
                            struct ocv_index **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** An index of one non-variant entry without platform, for an image manifest that stands alone. Its
 *  digest is the manifest's. */
OCV_API int ocv_index_of_manifest(const struct ocv_descriptor *manifest, struct ocv_index **out,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_index_free(struct ocv_index *index);
/** Number of entries, unusable ones included. */
OCV_API size_t ocv_index_count(const struct ocv_index *index);
/** The entry at place `i` of `manifests`, NULL past the last. */
OCV_API const struct ocv_entry *ocv_index_entry(const struct ocv_index *index, size_t i);
/** The property of an id (below ocv_index_property_count); its strings live as long as the index.
 */
OCV_API struct ocv_property ocv_index_property(const struct ocv_index *index, uint32_t id);
/** Number of distinct properties used in the index; ids are below it, in canonical order. */
OCV_API size_t ocv_index_property_count(const struct ocv_index *index);
/** sha256 digest of the bytes that were parsed (of a bare manifest: its own). */
OCV_API const char *ocv_index_digest(const struct ocv_index *index);
/** Append an entry's properties in canonical form, and those of its namespaces that are the index's
 *  own, joined by ", ": with the label, what ocv_fit_check takes. */
OCV_API int ocv_index_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                               struct ocv_buffer *properties, struct ocv_buffer *statics,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** True if any entry carries variant annotations, well-formed or not. */
OCV_API bool ocv_index_has_variants(const struct ocv_index *index);
/** True if images of that os and architecture ask for different versions of the processor: amd64
 *  v1 to v4, arm v5 to v8, arm64 v8.x and v9.x. Few engines look at them. `x-...`, which marks
 *  variants, is not a version. */
OCV_API bool ocv_index_has_levels(const struct ocv_index *index,
                                  const struct ocv_platform *platform);
/** The index's namespace order, most important first, after the default rule where the annotation
 *  is absent. `*declared` (may be NULL): whether the annotation was there. */
OCV_API size_t ocv_index_namespaces(const struct ocv_index *index, const char *const **out,
                                    bool *declared);
/** Notes for people: static namespace that a provider owns, bad namespace list, ... */
OCV_API size_t ocv_index_warnings(const struct ocv_index *index, const char *const **out);
/** Why nothing tells an entry from others: in an index made of tags by rules, an image may stand
 * for several. NULL: it is the only one of its kind, or `entry` is NULL. Lives as long as the
 * index. */
OCV_API const char *ocv_index_doubt(const struct ocv_index *index, const struct ocv_entry *entry);
/** First entry with this digest, or NULL. */
OCV_API const struct ocv_entry *ocv_index_find_digest(const struct ocv_index *index,
                                                      const char *digest);

OCV_DEFINE_CLEANUP(ocv_index)

#ifdef __cplusplus
}
#endif
#endif
