/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys, and signatures as cosign makes them. For unit tests and fuzz targets. */
#ifndef SIGN_UTIL_H
#define SIGN_UTIL_H

#include "lib/base/format/encodings.h"
#include "ocivariant/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGN_TEXT_MAX 8192u

/** A key of a kind: "P-256", "P-384", "P-521", "ED25519", "RSA2048", "RSA1024". NULL: it cannot be
 * made. */
static inline EVP_PKEY *sign_key(const char *kind)
{
    if (!strncmp(kind, "RSA", 3))
        return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)strtoul(kind + 3, NULL, 10));
    if (!strcmp(kind, "ED25519"))
        return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", kind);
}

/** Write the public half to a new file of that mode, below `dir`. False: it cannot be written. */
static inline bool sign_publish(EVP_PKEY *key, const char *path, mode_t mode)
{
    FILE *file = fopen(path, "w");
    bool good = file && PEM_write_PUBKEY(file, key) == 1;
    good = file && fclose(file) == 0 && good;
    return good && chmod(path, mode) == 0;
}

/** The signature's base64, which the caller frees. `hash` NULL: of Ed25519. */
static inline char *sign_bytes(EVP_PKEY *key, const char *hash, const void *bytes, size_t len)
{
    unsigned char signature[1024];
    size_t n = sizeof(signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    char *text = NULL;
    if (ctx && EVP_DigestSignInit_ex(ctx, NULL, hash, NULL, NULL, key, NULL) == 1 &&
        EVP_DigestSign(ctx, signature, &n, bytes, len) == 1)
        text = ocv_base64_encode(signature, n);
    EVP_MD_CTX_free(ctx);
    return text;
}

/** A bundle over a statement, as cosign 3 writes it, in `out`; returns its length. */
static inline size_t sign_bundle(EVP_PKEY *key, const char *hash, const char *statement, size_t len,
                                 char *out, size_t size)
{
    char *pae = malloc(len + 128);
    int head = snprintf(pae, 128, "DSSEv1 28 application/vnd.in-toto+json %zu ", len);
    memcpy(pae + head, statement, len);
    char *signature = sign_bytes(key, hash, pae, (size_t)head + len);
    char *payload = ocv_base64_encode(statement, len);
    int n = snprintf(
        out, size,
        "{\"mediaType\":\"%s\",\"verificationMaterial\":{\"publicKey\":{\"hint\":\"h\"}},"
        "\"dsseEnvelope\":{\"payload\":\"%s\",\"payloadType\":\"application/vnd.in-toto+json\","
        "\"signatures\":[{\"sig\":\"%s\"}]}}",
        OCV_SIGNATURE_BUNDLE, payload ? payload : "", signature ? signature : "");
    free(pae);
    free(signature);
    free(payload);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

#endif
