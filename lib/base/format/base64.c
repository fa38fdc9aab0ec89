/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/base64.h"

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
    size_t n = strlen(text);
    while (n && text[n - 1] == '=')
        n--;
    size_t padding = (4 - n % 4) % 4;
    if (padding == 3 || n > INT_MAX / 2 || strspn(text, " \t\r\n") > 0)
        return NULL;
    char *padded = malloc(n + 4), *out = malloc(n / 4 * 3 + 4);
    int got = -1;
    if (padded && out) {
        snprintf(padded, n + 4, "%.*s%.*s", (int)n, text, (int)padding, "==");
        got = EVP_DecodeBlock((unsigned char *)out, (unsigned char *)padded, (int)(n + padding));
        explicit_bzero(padded, n);
    }
    free(padded);
    if (got < 0) {
        free(out);
        return NULL;
    }
    *len = (size_t)got - padding;
    out[*len] = '\0';
    return out;
}
