/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file manifest.h
 * Image manifests (image-spec manifest.md, Docker schema 2).
 *
 * Ownership: the caller owns a manifest and frees it; descriptors are borrowed from it. Thread
 * safety: a manifest never changes, so any number of threads may read it.
 */
#ifndef OCIVARIANT_MANIFEST_H
#define OCIVARIANT_MANIFEST_H

#include "ocivariant/attributes.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ocv_manifest;
/** Parse an image manifest (OCI or Docker schema 2): config and layers with media type, digest,
 *  size. At most 1,000 layers. Malformed: OCV_ERR_DATA. */
OCV_API int ocv_manifest_parse(const void *bytes, size_t len, const char *media_type,
                               struct ocv_manifest **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_manifest_free(struct ocv_manifest *manifest);
/** The image's config. */
OCV_API const struct ocv_descriptor *ocv_manifest_config(const struct ocv_manifest *manifest);
/** Number of layers. */
OCV_API size_t ocv_manifest_layer_count(const struct ocv_manifest *manifest);
/** A layer from the base up, NULL past the last. */
OCV_API const struct ocv_descriptor *ocv_manifest_layer(const struct ocv_manifest *manifest,
                                                        size_t i);

OCV_DEFINE_CLEANUP(ocv_manifest)

#ifdef __cplusplus
}
#endif
#endif
