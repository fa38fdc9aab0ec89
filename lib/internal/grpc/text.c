/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/text.h"
#include "lib/base/buffer_internal.h"
#include "lib/base/cleanup.h"
#include "lib/internal/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>

int64_t grpc_timeout_ms(const char *text)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
                 {'m', 1000000},       {'u', 1000},        {'n', 1}};
    int64_t value = 0;
    size_t digits = 0;
    while (digits < 9 && text[digits] >= '0' && text[digits] <= '9')
        value = value * 10 + (text[digits++] - '0');
    if (digits == 0 || digits > 8) /* the specification's limit, so nothing overflows */
        return -1;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (text[digits] == units[i].unit && !text[digits + 1])
            return units[i].ns >= 1000000 ? value * (units[i].ns / 1000000)
                                          : (value * units[i].ns + 999999) / 1000000;
    return -1;
}

void grpc_encode_message(const char *text, char *out, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool plain = *p >= 0x20 && *p < 0x7f && *p != '%';
        if (n + (plain ? 1 : 3) >= size)
            break;
        if (plain) {
            out[n++] = (char)*p;
        } else {
            out[n++] = '%';
            out[n++] = hex[*p >> 4];
            out[n++] = hex[*p & 15];
        }
    }
    out[n] = '\0';
}

void grpc_decode_message(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < size; p++) {
        int high = *p == '%' ? ocv_text_hex(p[1]) : -1;
        int low = high >= 0 ? ocv_text_hex(p[2]) : -1;
        bool escaped = low >= 0 && (high || low); /* no NUL inside a text */
        out[n++] = (char)(escaped ? high << 4 | low : *p);
        p += escaped ? 2 : 0;
    }
    out[n] = '\0';
}

bool grpc_header_next(const struct ocv_buffer *headers, size_t *at, const char **name,
                      const char **value)
{
    if (*at >= headers->len)
        return false;
    *name = headers->data + *at;
    *value = *name + strlen(*name) + 1;
    *at = (size_t)(*value + strlen(*value) + 1 - headers->data);
    return true;
}

int grpc_header_add(struct ocv_buffer *headers, const void *name, size_t name_len,
                    const void *value, size_t value_len)
{
    OCV_TRY(ocv_buffer_reserve(headers, name_len + value_len + 2, NULL));
    char *end = headers->data + headers->len;
    memcpy(end, name, name_len);
    end[name_len] = '\0';
    memcpy(end + name_len + 1, value, value_len);
    end[name_len + 1 + value_len] = end[name_len + 2 + value_len] = '\0';
    headers->len += name_len + value_len + 2;
    return OCV_OK;
}

nghttp2_nv *grpc_header_list(const struct ocv_buffer *headers, bool passed, size_t *n)
{
    const char *name, *value;
    size_t at = 0;
    for (*n = 0; grpc_header_next(headers, &at, &name, &value);)
        (*n)++;
    nghttp2_nv *list = calloc(*n ? *n : 1, sizeof(*list));
    at = 0;
    for (size_t i = 0; list && grpc_header_next(headers, &at, &name, &value); i++)
        list[i] =
            (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                         strlen(value), passed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
    return list;
}

void grpc_frame(uint8_t out[5], size_t len)
{
    out[0] = 0;
    out[1] = (uint8_t)(len >> 24);
    out[2] = (uint8_t)(len >> 16);
    out[3] = (uint8_t)(len >> 8);
    out[4] = (uint8_t)len;
}

int grpc_unframe(const uint8_t *bytes, size_t len, size_t *at, size_t *message_len,
                 enum grpc_code *code)
{
    if (len < 5)
        return 0;
    size_t told =
        (size_t)bytes[1] << 24 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 8 | bytes[4];
    *code = bytes[0] ? GRPC_UNIMPLEMENTED : GRPC_RESOURCE_EXHAUSTED;
    if (bytes[0] || told > GRPC_MESSAGE_MAX)
        return -1;
    *at = 5;
    *message_len = told;
    return len - 5 >= told ? 1 : 0;
}
