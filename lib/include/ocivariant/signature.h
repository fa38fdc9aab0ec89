/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file signature.h
 * Signatures of images and indexes by key, as cosign makes them (libocivariant-registry):
 *   - a Sigstore bundle of media type application/vnd.dev.sigstore.bundle.v0.3+json, cosign 3's
 *     default: a DSSE envelope around an in-toto statement whose subject is the image
 *     (https://github.com/secure-systems-lab/dsse, https://in-toto.io/Statement/v1);
 *   - a payload of media type application/vnd.dev.cosign.simplesigning.v1+json with its signature
 *     in an annotation, cosign 1 and 2.
 * A signature is good if one of the keys made it over what names the digest that is asked about.
 * Certificates (keyless signing), transparency logs and timestamps are not looked at.
 *
 * Ownership: the caller owns keys and frees them. Thread safety: keys that are not being freed may
 * be used by any number of threads.
 */
#ifndef OCIVARIANT_SIGNATURE_H
#define OCIVARIANT_SIGNATURE_H

#include "ocivariant/attributes.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"
#include "ocivariant/reference.h"
#include "ocivariant/registry.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCV_SIGNATURE_BUNDLE "application/vnd.dev.sigstore.bundle.v0.3+json"
#define OCV_SIGNATURE_PAYLOAD "application/vnd.dev.cosign.simplesigning.v1+json"
/** Limits; beyond them a document is no signature. */
#define OCV_SIGNATURE_MAX (256u * 1024) /**< bytes of a bundle or payload */
#define OCV_SIGNATURES_MAX 64u          /**< signatures of one image that are looked at */

/** Public keys. */
struct ocv_signature_keys;
/** Read PEM files of public keys (ECDSA P-256 and P-384, Ed25519, RSA from 2048 bits).
 * OCV_ERR_CONFIG names a file that is missing, empty, a directory, no public key, or one that
 * others than root and this user may write. */
OCV_API int ocv_signature_keys_new(const char *const *files, size_t n,
                                   struct ocv_signature_keys **out,
                                   struct ocv_error *err) OCV_WARN_UNUSED;
/** NULL is allowed. */
OCV_API void ocv_signature_keys_free(struct ocv_signature_keys *keys);

/** Is the key of that digest (struct ocv_signature) among them? NULL has none. */
OCV_API bool ocv_signature_keys_have(const struct ocv_signature_keys *keys, const char *digest);

/** A good signature. */
struct ocv_signature {
    char document[OCV_DIGEST_MAX]; /**< digest of the bundle or payload */
    char key[OCV_DIGEST_MAX]; /**< SHA-256 of the key that made it (SubjectPublicKeyInfo, DER) */
};

/** What a signature has to be about. Strings are borrowed. */
struct ocv_signature_subject {
    const char *digest; /**< of the index or manifest */
    /** Names (HOST/REPOSITORY), one of which the payload's docker-reference has to be; none: any.
     *  Bundles name no repository, so that with names they are not good. */
    const char *const *repositories;
    size_t n_repositories;
    const char *document; /**< ocv_registry_verify: only the signature of this digest; NULL: any */
};
/** Check one document. `media_type` says which kind it is; `signature` is the annotation's base64
 *  for a payload, else NULL. OCV_ERR_UNTRUSTED with the reason. */
OCV_API int ocv_signature_check(const struct ocv_signature_keys *keys, const char *media_type,
                                const void *bytes, size_t len, const char *signature,
                                const struct ocv_signature_subject *subject,
                                struct ocv_signature *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Find a good signature in the reference's repository: among the digest's referrers, then under
 *  cosign's tag (sha256-HEX.sig). OCV_ERR_UNTRUSTED: there is none, with the reason of the last
 *  one; any other error: it could not be asked. */
OCV_API int ocv_registry_verify(struct ocv_registry *registry,
                                const struct ocv_reference *reference,
                                const struct ocv_signature_keys *keys,
                                const struct ocv_signature_subject *subject,
                                struct ocv_signature *out, struct ocv_error *err) OCV_WARN_UNUSED;

#if defined(__GNUC__) && !defined(__cplusplus)
OCV_DEFINE_CLEANUP(ocv_signature_keys)
#endif

#ifdef __cplusplus
}
#endif
#endif
