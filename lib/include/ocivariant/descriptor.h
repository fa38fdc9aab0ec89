/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file descriptor.h
 * Media types, descriptors, and the limits of documents from outside.
 *
 * Ownership: a descriptor is a plain structure without pointers and is copied by assignment.
 * Thread safety: the functions keep no state.
 */
#ifndef OCIVARIANT_DESCRIPTOR_H
#define OCIVARIANT_DESCRIPTOR_H

#include "ocivariant/attributes.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCV_MEDIA_TYPE_INDEX "application/vnd.oci.image.index.v1+json"
#define OCV_MEDIA_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCV_MEDIA_TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define OCV_MEDIA_TYPE_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define OCV_MEDIA_TYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"

/** The tag of an entry of index.json, and the full name that containerd puts beside it. */
#define OCV_ANNOTATION_REF_NAME "org.opencontainers.image.ref.name"
#define OCV_ANNOTATION_IMAGE_NAME "io.containerd.image.name"

/** Limits on documents from outside; going over one is an error that says so. */
#define OCV_MANIFEST_MAX (4u * 1024 * 1024)  /**< bytes of an index or manifest */
#define OCV_PROFILE_MAX (4u * 1024 * 1024)   /**< bytes of a profile */
#define OCV_INDEX_ENTRIES_MAX 4096u          /**< entries of an index */
#define OCV_ENTRY_PROPERTIES_MAX 512u        /**< properties of an entry */
#define OCV_ENTRY_PROPERTIES_BYTES_MAX 4000u /**< bytes of the properties annotation */

struct ocv_descriptor {
    char media_type[256];
    char digest[OCV_DIGEST_MAX];
    int64_t size;
};

/** What a top-level document is, by its bytes and its Content-Type. */
enum ocv_document_kind { OCV_DOCUMENT_INDEX, OCV_DOCUMENT_MANIFEST };
/** Decide index or image manifest. `media_type` (may be NULL) is the Content-Type or descriptor's
 *  type; a body that says otherwise, has both `manifests` and `layers`, or neither: OCV_ERR_DATA.
 */
OCV_API int ocv_document_kind(const void *bytes, size_t len, const char *media_type,
                              enum ocv_document_kind *out, struct ocv_error *err) OCV_WARN_UNUSED;

#ifdef __cplusplus
}
#endif
#endif
