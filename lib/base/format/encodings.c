/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/encodings.h"
#include "lib/base/cleanup.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ocv_base64_encode(const void *data, size_t len)
{
    char *out = len < INT_MAX / 2 ? malloc((len + 2) / 3 * 4 + 1) : NULL;
    if (out)
        EVP_EncodeBlock((unsigned char *)out, data, (int)len);
    return out;
}

char *ocv_base64_decode(const char *text, size_t *len)
{
    size_t room = strlen(text) + 4, n = 0;
    char *padded = room < INT_MAX / 2 ? malloc(room) : NULL, *out = NULL;
    if (!padded)
        return NULL;
    for (const char *p = text; *p; p++)
        if (*p != '\r' && *p != '\n') /* `base64` breaks lines */
            padded[n++] = *p;
    while (n && padded[n - 1] == '=')
        n--;
    size_t padding = (4 - n % 4) % 4;
    int got = -1;
    if (padding < 3 && !memchr(padded, ' ', n) && !memchr(padded, '\t', n))
        out = malloc(n / 4 * 3 + 4);
    if (out) {
        memcpy(padded + n, "==", padding);
        padded[n + padding] = '\0';
        got = EVP_DecodeBlock((unsigned char *)out, (unsigned char *)padded, (int)(n + padding));
    }
    explicit_bzero(padded, n);
    free(padded);
    if (got < 0) {
        free(out);
        return NULL;
    }
    *len = (size_t)got - padding;
    out[*len] = '\0';
    return out;
}

int ocv_url_escape(const char *text, const char *plain, struct ocv_buffer *out,
                   struct ocv_error *err)
{
    for (; *text; text++) {
        char c = *text;
        bool as_is = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr(plain, c);
        OCV_TRY(as_is ? ocv_buffer_append(out, text, 1, err)
                      : ocv_buffer_printf(out, err, "%%%02X", (unsigned char)c));
    }
    return OCV_OK;
}
