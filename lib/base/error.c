/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The error object: fixed size, so that reporting a failure never allocates. Messages may quote
 * bytes from the network; what a terminal would obey or not show is replaced. */
#include "ocivariant/error.h"
#include "lib/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ocv_version(void)
{
    return OCV_VERSION;
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
