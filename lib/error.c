/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The error object: fixed size, so that reporting a failure never allocates. Messages may quote
 * bytes from the network; control characters are replaced so that no terminal obeys them. */
#include "text.h"

#include "ocivariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ocv_version(void)
{
    return OCV_VERSION;
}

size_t ocv_text_character(const void *text, size_t len)
{
    const unsigned char *s = text;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte: no overlong form, no surrogate */
    size_t n = 0;
    if (!len)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        n = 2;
    else if ((s[0] & 0xf0) == 0xe0)
        n = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        n = 4;
    low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : low;
    high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : high;
    if (n > len || (n && (s[1] < low || s[1] > high)))
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void ocv_text_clean(char *s)
{
    const char *end = s + strlen(s);
    while (s < end) {
        const unsigned char *u = (unsigned char *)s;
        size_t n = ocv_text_character(u, (size_t)(end - s));
        bool control = *u < 0x20 || *u == 0x7f || (n == 2 && *u == 0xc2 && u[1] < 0xa0);
        if (n == 0 || control)
            memset(s, '?', n ? n : 1);
        s += n ? n : 1;
    }
}

int ocv_error_set(struct ocv_error *err, enum ocv_status status, const char *format, ...)
{
    if (!err)
        return status;
    char text[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args); /* arguments may point into err->message */
    va_end(args);
    memcpy(err->message, text, sizeof(text));
    ocv_text_clean(err->message);
    err->status = status;
    err->http_status = 0;
    err->hint[0] = '\0';
    return status;
}

int ocv_error_prefix(struct ocv_error *err, const char *format, ...)
{
    if (!err)
        return OCV_ERR_INVALID;
    char text[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0)
        return err->status;
    char old[sizeof(err->message)];
    memcpy(old, err->message, sizeof(old));
    size_t used = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    int more = snprintf(text + used, sizeof(text) - used, ": %s", old);
    if (more < 0)
        return err->status;
    memcpy(err->message, text, sizeof(text));
    ocv_text_clean(err->message);
    return err->status;
}

void ocv_error_hint(struct ocv_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    ocv_text_clean(err->hint);
}

int ocv_error_nomem(struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_NOMEM, "out of memory");
}

int ocv_error_exit_code(enum ocv_status status)
{
    switch (status) {
    case OCV_OK:
        return 0;
    case OCV_ERR_INVALID:
    case OCV_ERR_CONFIG:
        return 2;
    case OCV_ERR_NO_MATCH:
        return 3;
    case OCV_ERR_DATA:
    case OCV_ERR_MISMATCH:
        return 4;
    case OCV_ERR_CHECK:
        return 5;
    case OCV_ERR_INTERRUPTED:
        return 130;
    case OCV_ERR_NOMEM:
    case OCV_ERR_IO:
    case OCV_ERR_NETWORK:
    case OCV_ERR_NOT_FOUND:
    case OCV_ERR_DENIED:
    case OCV_ERR_ENGINE:
    case OCV_ERR_UNSUPPORTED:
        return 1;
    }
    return 1;
}
