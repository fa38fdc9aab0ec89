/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file digest.h
 * Digests (image-spec descriptor.md): their grammar, and making and checking them.
 *
 * Ownership: texts go into the caller's arrays; a hasher is owned and freed by the caller. Thread
 * safety: the functions keep no state; one thread at a time for each hasher.
 */
#ifndef OCIVARIANT_DIGEST_H
#define OCIVARIANT_DIGEST_H

#include "ocivariant/attributes.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest digest string known here ("sha512:" + 128 hex), with NUL. */
#define OCV_DIGEST_MAX 136

/** Grammar of a digest (algorithm and encoded part); also of algorithms that are not known here. */
OCV_API bool ocv_digest_wellformed(const char *digest);
/** True if this library can verify the digest: sha256 or sha512 with lower-case hex of full length.
 */
OCV_API bool ocv_digest_known(const char *digest);
/** sha256 digest string of `len` bytes into `out`. Needs no allocation from the caller. */
OCV_API int ocv_digest_bytes(const void *data, size_t len, char out[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;
/** Check bytes against a digest: OCV_ERR_MISMATCH names both. */
OCV_API int ocv_digest_check(const char *digest, const void *data, size_t len,
                             struct ocv_error *err) OCV_WARN_UNUSED;

/** Streaming digest. */
struct ocv_hasher;
/** Make a hasher for the algorithm of `digest`, a whole digest. OCV_ERR_DATA if not
 *  ocv_digest_known. */
OCV_API int ocv_hasher_new(const char *digest, struct ocv_hasher **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Hash `len` bytes more. */
OCV_API int ocv_hasher_update(struct ocv_hasher *hasher, const void *data, size_t len,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Finish and write "ALGORITHM:HEX"; the hasher can only be freed afterwards. */
OCV_API int ocv_hasher_final(struct ocv_hasher *hasher, char out[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_hasher_free(struct ocv_hasher *hasher);

OCV_DEFINE_CLEANUP(ocv_hasher)

#ifdef __cplusplus
}
#endif
#endif
