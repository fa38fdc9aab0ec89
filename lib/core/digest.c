/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Digests (image-spec descriptor.md): grammar, and sha256/sha512 over bytes or a stream.
 *
 * The hash functions are called by themselves and not through EVP: the first EVP call of a process
 * loads providers, names and openssl.cnf, which takes longer than a command's whole work. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "ocivariant/digest.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct algorithm {
    const char *name;
    size_t hex_length;
} algorithms[] = {{"sha256", 2 * SHA256_DIGEST_LENGTH}, {"sha512", 2 * SHA512_DIGEST_LENGTH}};

struct ocv_hasher {
    union {
        SHA256_CTX sha256;
        SHA512_CTX sha512;
    } state;
    const struct algorithm *algorithm;
    bool sha512;
};

bool ocv_digest_wellformed(const char *digest)
{
    const char *encoded = digest;
    if (!digest)
        return false;
    do { /* component (separator component)*; component ::= [a-z0-9]+; separator ::= [+._-] */
        if (!ocv_text_is_lower_alnum(*encoded))
            return false;
        while (ocv_text_is_lower_alnum(*encoded))
            encoded++;
        if (*encoded != ':' && (!*encoded || !strchr("+._-", *encoded)))
            return false;
    } while (*encoded++ != ':');
    if (!*encoded)
        return false;
    for (const char *s = encoded; *s; s++)
        if (!ocv_text_is_lower_alnum(*s) && !(*s >= 'A' && *s <= 'Z') && !strchr("=_-", *s))
            return false;
    const struct algorithm *last = algorithms + sizeof(algorithms) / sizeof(*algorithms);
    for (const struct algorithm *a = algorithms; a < last; a++) {
        size_t n = strlen(a->name);
        if ((size_t)(encoded - digest) == n + 1 && memcmp(digest, a->name, n) == 0)
            return ocv_digest_known(digest); /* a registered algorithm fixes the encoded part */
    }
    return true;
}

static const struct algorithm *find_algorithm(const char *digest)
{
    for (size_t i = 0; digest && i < sizeof(algorithms) / sizeof(*algorithms); i++) {
        const struct algorithm *a = &algorithms[i];
        size_t n = strlen(a->name);
        if (strncmp(digest, a->name, n) != 0 || digest[n] != ':')
            continue;
        const char *hex = digest + n + 1;
        return strnlen(hex, a->hex_length + 1) == a->hex_length &&
                       strspn(hex, "0123456789abcdef") == a->hex_length
                   ? a
                   : NULL;
    }
    return NULL;
}

bool ocv_digest_known(const char *digest)
{
    return find_algorithm(digest) != NULL;
}

int ocv_hasher_new(const char *digest, struct ocv_hasher **out, struct ocv_error *err)
{
    const struct algorithm *a = find_algorithm(digest);
    if (!a)
        return ocv_error_set(err, OCV_ERR_DATA, "unknown or malformed digest '%.100s'",
                             digest ? digest : "");
    struct ocv_hasher *hasher = calloc(1, sizeof(*hasher));
    if (!hasher)
        return ocv_error_nomem(err);
    hasher->algorithm = a;
    hasher->sha512 = a->hex_length == 2 * SHA512_DIGEST_LENGTH;
    int done =
        hasher->sha512 ? SHA512_Init(&hasher->state.sha512) : SHA256_Init(&hasher->state.sha256);
    if (done != 1) {
        ocv_hasher_free(hasher);
        return ocv_error_nomem(err);
    }
    *out = hasher;
    return OCV_OK;
}

int ocv_hasher_update(struct ocv_hasher *hasher, const void *data, size_t len,
                      struct ocv_error *err)
{
    int done = hasher->sha512 ? SHA512_Update(&hasher->state.sha512, data, len)
                              : SHA256_Update(&hasher->state.sha256, data, len);
    if (done != 1)
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot compute a digest");
    return OCV_OK;
}

int ocv_hasher_final(struct ocv_hasher *hasher, char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char raw[SHA512_DIGEST_LENGTH];
    size_t n = hasher->algorithm->hex_length / 2;
    int done = hasher->sha512 ? SHA512_Final(raw, &hasher->state.sha512)
                              : SHA256_Final(raw, &hasher->state.sha256);
    if (done != 1)
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot compute a digest");
    size_t at = (size_t)snprintf(out, OCV_DIGEST_MAX, "%s:", hasher->algorithm->name);
    for (size_t i = 0; i < n; i++) {
        out[at++] = hex[raw[i] >> 4];
        out[at++] = hex[raw[i] & 15];
    }
    out[at] = '\0';
    return OCV_OK;
}

void ocv_hasher_free(struct ocv_hasher *hasher)
{
    free(hasher);
}

static int digest_of(const char *algorithm_of, const void *data, size_t len,
                     char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    ocv_auto(ocv_hasher) hasher = NULL;
    OCV_TRY(ocv_hasher_new(algorithm_of, &hasher, err));
    OCV_TRY(ocv_hasher_update(hasher, data, len, err));
    return ocv_hasher_final(hasher, out, err);
}

int ocv_digest_bytes(const void *data, size_t len, char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    static const char sha256[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    return digest_of(sha256, data, len, out, err);
}

int ocv_digest_check(const char *digest, const void *data, size_t len, struct ocv_error *err)
{
    char actual[OCV_DIGEST_MAX];
    OCV_TRY(digest_of(digest, data, len, actual, err));
    if (strcmp(actual, digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "content has digest %s, expected %s", actual,
                             digest);
    return OCV_OK;
}
