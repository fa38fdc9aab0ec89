/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Signatures by key: what was signed is read only after the signature was found to be good. */
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"
#include "lib/registry/signature/signature_internal.h"
#include "ocivariant/buffer.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 16384u /* of a bundle or a payload: one with certificates has a hundred */

/* As older versions of the specification write it, too. */
#define BUNDLE_OLD "application/vnd.dev.sigstore.bundle+json;version=0.3"
#define IN_TOTO "application/vnd.in-toto+json"
#define PREDICATE "https://sigstore.dev/cosign/sign/v1"
#define PAYLOAD_TYPE "cosign container image signature"

/* The key that made the signature over these bytes, or NULL. */
static const struct key *signer(const struct ocv_signature_keys *keys, const void *bytes,
                                size_t len, const unsigned char *signature, size_t n)
{
    const struct key *found = NULL;
    for (size_t i = 0; i < keys->n && !found; i++)
        for (size_t h = 0; h < keys->list[i].n_hash && !found; h++) {
            EVP_MD_CTX *ctx = EVP_MD_CTX_new();
            if (ctx &&
                EVP_DigestVerifyInit(ctx, NULL, keys->list[i].hash[h], NULL, keys->list[i].pkey) ==
                    1 &&
                EVP_DigestVerify(ctx, signature, n, bytes, len) == 1)
                found = &keys->list[i];
            EVP_MD_CTX_free(ctx);
        }
    ERR_clear_error(); /* of keys that did not make it */
    return found;
}

static int untrusted(struct ocv_error *err, const char *why)
{
    return ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s", why);
}

/* "sha256" of "sha256:HEX" in an in-toto subject. */
static bool names_digest(const json_t *subject, const char *digest)
{
    char algorithm[32];
    const char *colon = strchr(digest, ':');
    snprintf(algorithm, sizeof(algorithm), "%.*s", (int)(colon - digest), digest);
    const char *hex = ocv_json_text(json_object_get(subject, "digest"), algorithm);
    return hex && !strcmp(hex, colon + 1);
}

/* What DSSE signs: "DSSEv1 SP LEN(type) SP type SP LEN(body) SP body". */
static int envelope_bytes(const char *type, const char *body, size_t len, struct ocv_buffer *out,
                          struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_printf(out, err, "DSSEv1 %zu %s %zu ", strlen(type), type, len));
    return ocv_buffer_append(out, body, len, err);
}

static int check_statement(const char *statement, size_t len, const char *digest,
                           struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load_counted("statement", statement, len, OCV_SIGNATURE_MAX, VALUES_MAX, &root,
                                  err));
    const char *type = ocv_json_text_or(root, "_type", "");
    const char *predicate = ocv_json_text_or(root, "predicateType", "");
    if (strcmp(type, "https://in-toto.io/Statement/v1") != 0 &&
        strcmp(type, "https://in-toto.io/Statement/v0.1") != 0)
        return untrusted(err, "its payload is no in-toto statement");
    if (strcmp(predicate, PREDICATE) != 0)
        return untrusted(err, "it is a statement about the image, and no signature of it");
    const json_t *subjects = json_object_get(root, "subject");
    for (size_t i = 0; i < json_array_size(subjects); i++)
        if (names_digest(json_array_get(subjects, i), digest))
            return OCV_OK;
    return untrusted(err, "it is for another digest");
}

static int check_bundle(const struct ocv_signature_keys *keys, const json_t *bundle,
                        const struct ocv_signature_subject *subject, const struct key **key,
                        struct ocv_error *err)
{
    const char *media_type = ocv_json_text_or(bundle, "mediaType", "");
    const json_t *material = json_object_get(bundle, "verificationMaterial");
    const json_t *envelope = json_object_get(bundle, "dsseEnvelope");
    const json_t *signatures = json_object_get(envelope, "signatures");
    if (strcmp(media_type, OCV_SIGNATURE_BUNDLE) != 0 && strcmp(media_type, BUNDLE_OLD) != 0)
        return untrusted(err, "its bundle is of another version than 0.3");
    if (json_object_get(material, "certificate") ||
        json_object_get(material, "x509CertificateChain"))
        return untrusted(err, "it was made with a certificate (keyless), and not with a key");
    const char *type = ocv_json_text_or(envelope, "payloadType", "");
    const char *payload = ocv_json_text_or(envelope, "payload", "");
    const char *text = ocv_json_text_or(json_array_get(signatures, 0), "sig", "");
    if (strcmp(type, IN_TOTO) != 0 || json_array_size(signatures) != 1)
        return untrusted(err,
                         "its bundle has no envelope with one signature of an in-toto statement");
    size_t len = 0, n = 0;
    ocv_auto_free char *body = ocv_base64_decode(payload, &len);
    ocv_auto_free char *signature = ocv_base64_decode(text, &n);
    ocv_auto_buffer signed_bytes;
    ocv_buffer_init(&signed_bytes, OCV_SIGNATURE_MAX + 256);
    if (!body || !signature || !len || !n)
        return untrusted(err, "its bundle has a malformed envelope");
    OCV_TRY(envelope_bytes(type, body, len, &signed_bytes, err));
    *key = signer(keys, signed_bytes.data, signed_bytes.len, (const unsigned char *)signature, n);
    if (!*key)
        return untrusted(err, "no key given here made it");
    if (subject->n_repositories)
        return untrusted(err, "it names no repository, as bundles do, and one is required");
    return check_statement(body, len, subject->digest, err);
}

static bool names_repository(const char *text, const struct ocv_signature_subject *subject)
{
    ocv_auto(ocv_reference) reference = NULL;
    if (!text || ocv_reference_parse(text, &reference, NULL) < 0)
        return false;
    for (size_t i = 0; i < subject->n_repositories; i++)
        if (!strcmp(reference->name, subject->repositories[i]))
            return true;
    return false;
}

static int check_payload(const struct ocv_signature_keys *keys, const void *bytes, size_t len,
                         const char *text, const struct ocv_signature_subject *subject,
                         const struct key **key, struct ocv_error *err)
{
    size_t n = 0;
    ocv_auto_json *root = NULL;
    ocv_auto_free char *signature = text ? ocv_base64_decode(text, &n) : NULL;
    if (!signature || !n)
        return untrusted(err, "it has no signature beside its payload");
    *key = signer(keys, bytes, len, (const unsigned char *)signature, n);
    if (!*key)
        return untrusted(err, "no key given here made it");
    OCV_TRY(
        ocv_json_load_counted("payload", bytes, len, OCV_SIGNATURE_MAX, VALUES_MAX, &root, err));
    const json_t *critical = json_object_get(root, "critical");
    const char *digest =
        ocv_json_text_or(json_object_get(critical, "image"), "docker-manifest-digest", "");
    const char *name = ocv_json_text(json_object_get(critical, "identity"), "docker-reference");
    if (strcmp(ocv_json_text_or(critical, "type", ""), PAYLOAD_TYPE) != 0)
        return untrusted(err, "its payload is no signature of an image");
    if (strcmp(digest, subject->digest) != 0)
        return untrusted(err, "it is for another digest");
    if (subject->n_repositories && !names_repository(name, subject)) {
        char why[200];
        snprintf(why, sizeof(why), "it is for the repository %.100s",
                 name && *name ? name : "\"\"");
        return untrusted(err, why);
    }
    return OCV_OK;
}

int ocv_signature_check(const struct ocv_signature_keys *keys, const char *media_type,
                        const void *bytes, size_t len, const char *signature,
                        const struct ocv_signature_subject *subject, struct ocv_signature *out,
                        struct ocv_error *err)
{
    const struct key *key = NULL;
    ocv_auto_json *bundle = NULL;
    if (!ocv_digest_known(subject->digest))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.80s' is not a digest", subject->digest);
    if (len > OCV_SIGNATURE_MAX)
        return untrusted(err, "it is too large for a signature");
    int status = OCV_OK;
    if (!strcmp(media_type, OCV_SIGNATURE_PAYLOAD)) {
        status = check_payload(keys, bytes, len, signature, subject, &key, err);
    } else if (!strcmp(media_type, OCV_SIGNATURE_BUNDLE)) {
        status = ocv_json_load_counted("bundle", bytes, len, OCV_SIGNATURE_MAX, VALUES_MAX, &bundle,
                                       err);
        if (status == OCV_OK)
            status = check_bundle(keys, bundle, subject, &key, err);
    } else {
        status = untrusted(err, "it is of a kind that is not known here");
    }
    if (status == OCV_ERR_DATA && err) /* malformed is as good as none */
        err->status = OCV_ERR_UNTRUSTED;
    if (status < 0)
        return status == OCV_ERR_DATA ? OCV_ERR_UNTRUSTED : status;
    if (!key)
        return untrusted(err, "no key given here made it");
    memcpy(out->key, key->digest, sizeof(out->key));
    return ocv_digest_bytes(bytes, len, out->document, err);
}
