/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Indexes and manifests as JSON. */
#ifndef OCV_JSON_DOCUMENT_H
#define OCV_JSON_DOCUMENT_H

#include "lib/base/format/json.h"
#include "ocivariant/descriptor.h"

/** ocv_json_load for an index or a manifest: OCV_MANIFEST_MAX bytes and OCV_JSON_VALUES_MAX values.
 */
int ocv_json_load_document(const char *what, const void *bytes, size_t len, json_t **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;

/** mediaType, digest and size of a descriptor, checked (digest grammar, size >= 0). Borrowed. */
int ocv_json_descriptor(const json_t *object, const char *what, const char **media_type,
                        const char **digest, int64_t *size, struct ocv_error *err) OCV_WARN_UNUSED;

/** ocv_document_kind for a document that is parsed already (lib/core/manifest.c). */
int ocv_document_kind_of(const json_t *root, const char *media_type, enum ocv_document_kind *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

#endif
