/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Standard base64 (RFC 4648 section 4) for credentials; OpenSSL is the core's business. */
#include "lib/registry/auth/credentials.h"

#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *ocv_base64_encode(const void *data, size_t len)
{
    const unsigned char *in = data;
    char *out = malloc((len + 2) / 3 * 4 + 1), *p = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)in[i] << 16;
        if (i + 1 < len)
            v |= (unsigned)in[i + 1] << 8;
        if (i + 2 < len)
            v |= in[i + 2];
        *p++ = alphabet[v >> 18];
        *p++ = alphabet[v >> 12 & 63];
        *p++ = i + 1 < len ? alphabet[v >> 6 & 63] : '=';
        *p++ = i + 2 < len ? alphabet[v & 63] : '=';
    }
    *p = '\0';
    return out;
}

char *ocv_base64_decode(const char *text, size_t *len)
{
    size_t n = strlen(text), used = 0;
    while (n && text[n - 1] == '=') /* padding is optional, as people strip it */
        n--;
    char *out = malloc(n / 4 * 3 + 4);
    unsigned bits = 0, have = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const char *at = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!at) {
            free(out);
            return NULL;
        }
        bits = bits << 6 | (unsigned)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[used++] = (char)(bits >> have & 0xff);
        }
    }
    out[used] = '\0';
    *len = used;
    return out;
}
