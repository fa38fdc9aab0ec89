/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Digests (image-spec descriptor.md): grammar, and sha256/sha512 over bytes or a stream. */
#include "ocivariant.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct algorithm {
    const char *name;
    size_t hex_length;
    const EVP_MD *(*md)(void);
};

static const struct algorithm algorithms[] = {
    {"sha256", 64, EVP_sha256},
    {"sha512", 128, EVP_sha512},
};

struct ocv_hasher {
    EVP_MD_CTX *context;
    const struct algorithm *algorithm;
};

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_lower_hex(char c)
{
    return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9');
}

/* algorithm ::= component (separator component)*; component ::= [a-z0-9]+; separator ::= [+._-] */
static const char *skip_algorithm(const char *s)
{
    while (is_lower_alnum(*s)) {
        while (is_lower_alnum(*s))
            s++;
        if (*s == ':')
            return s + 1;
        if (!*s || !strchr("+._-", *s))
            return NULL;
        s++;
    }
    return NULL;
}

bool ocv_digest_wellformed(const char *digest)
{
    const char *encoded = digest ? skip_algorithm(digest) : NULL;
    if (!encoded || !*encoded)
        return false;
    for (const char *s = encoded; *s; s++)
        if (!is_lower_alnum(*s) && !(*s >= 'A' && *s <= 'Z') && !strchr("=_-", *s))
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
        if (strnlen(hex, a->hex_length + 1) != a->hex_length)
            return NULL;
        for (size_t k = 0; k < a->hex_length; k++)
            if (!is_lower_hex(hex[k]))
                return NULL;
        return a;
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
    hasher->context = EVP_MD_CTX_new();
    if (!hasher->context || EVP_DigestInit_ex(hasher->context, a->md(), NULL) != 1) {
        ocv_hasher_free(hasher);
        return ocv_error_nomem(err);
    }
    *out = hasher;
    return OCV_OK;
}

int ocv_hasher_update(struct ocv_hasher *hasher, const void *data, size_t len,
                      struct ocv_error *err)
{
    if (EVP_DigestUpdate(hasher->context, data, len) != 1)
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot compute a digest");
    return OCV_OK;
}

int ocv_hasher_final(struct ocv_hasher *hasher, char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    if (EVP_DigestFinal_ex(hasher->context, raw, &n) != 1 || n * 2 != hasher->algorithm->hex_length)
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot compute a digest");
    size_t at = (size_t)snprintf(out, OCV_DIGEST_MAX, "%s:", hasher->algorithm->name);
    for (unsigned int i = 0; i < n; i++) {
        out[at++] = hex[raw[i] >> 4];
        out[at++] = hex[raw[i] & 15];
    }
    out[at] = '\0';
    return OCV_OK;
}

void ocv_hasher_free(struct ocv_hasher *hasher)
{
    if (!hasher)
        return;
    EVP_MD_CTX_free(hasher->context);
    free(hasher);
}

static int digest_of(const char *algorithm_of, const void *data, size_t len,
                     char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    ocv_auto(ocv_hasher) hasher = NULL;
    int status = ocv_hasher_new(algorithm_of, &hasher, err);
    if (status == OCV_OK)
        status = ocv_hasher_update(hasher, data, len, err);
    if (status == OCV_OK)
        status = ocv_hasher_final(hasher, out, err);
    return status;
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
    int status = digest_of(digest, data, len, actual, err);
    if (status < 0)
        return status;
    if (strcmp(actual, digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "content has digest %s, expected %s", actual,
                             digest);
    return OCV_OK;
}
