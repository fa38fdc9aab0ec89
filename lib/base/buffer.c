/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Growing byte buffer. Invariants: len < cap once data is set, data[len] == 0, len <= max. */
#include "lib/base/buffer_internal.h"
#include "lib/base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_buffer_init(struct ocv_buffer *buffer, size_t max)
{
    *buffer = (struct ocv_buffer){.max = max};
}

void ocv_buffer_free(struct ocv_buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    ocv_buffer_init(buffer, buffer->max);
}

int ocv_buffer_reserve(struct ocv_buffer *buffer, size_t more, struct ocv_error *err)
{
    if (more > buffer->max - buffer->len)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %zu bytes", buffer->max);
    size_t need = buffer->len + more + 1;
    if (need <= buffer->cap)
        return OCV_OK;
    size_t cap = buffer->cap ? buffer->cap : 256;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (cap - 1 > buffer->max)
        cap = buffer->max + 1;
    char *data = realloc(buffer->data, cap);
    if (!data)
        return ocv_error_nomem(err);
    buffer->data = data;
    buffer->cap = cap;
    return OCV_OK;
}

int ocv_buffer_append(struct ocv_buffer *buffer, const void *data, size_t len,
                      struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_reserve(buffer, len, err));
    if (len)
        memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
    buffer->data[buffer->len] = '\0';
    return OCV_OK;
}

/* Most texts fit into what is allocated already: then they are formatted once. */
int ocv_buffer_printf(struct ocv_buffer *buffer, struct ocv_error *err, const char *format, ...)
{
    va_list args;
    size_t spare = buffer->cap - buffer->len;
    va_start(args, format);
    int n = vsnprintf(spare ? buffer->data + buffer->len : NULL, spare, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < spare) {
        buffer->len += (size_t)n;
        return OCV_OK;
    }
    if (spare)
        buffer->data[buffer->len] = '\0'; /* as it was */
    if (n < 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot format text");
    OCV_TRY(ocv_buffer_reserve(buffer, (size_t)n, err));
    va_start(args, format);
    vsnprintf(buffer->data + buffer->len, (size_t)n + 1, format, args);
    va_end(args);
    buffer->len += (size_t)n;
    return OCV_OK;
}
