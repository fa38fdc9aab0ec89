/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/grpc/grpc.h"

#include <stdbool.h>

static bool read_varint(const uint8_t *bytes, size_t len, size_t *pos, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < GRPC_VARINT_MAX && *pos < len; i++) {
        uint8_t byte = bytes[(*pos)++];
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *out = value;
            return i < GRPC_VARINT_MAX - 1 || byte <= 1;
        }
    }
    return false;
}

int grpc_field_next(const uint8_t *bytes, size_t len, size_t *pos, struct grpc_field *out)
{
    uint64_t tag = 0, n = 0;
    if (*pos == len)
        return 0;
    out->start = *pos;
    if (!read_varint(bytes, len, pos, &tag) || tag >> 3 == 0 || tag >> 32)
        return -1;
    out->number = (uint32_t)(tag >> 3);
    out->type = (enum grpc_wire_type)(tag & 7);
    switch (out->type) {
    case GRPC_VARINT:
        return read_varint(bytes, len, pos, &n) ? 1 : -1;
    case GRPC_FIXED64:
        n = 8;
        break;
    case GRPC_FIXED32:
        n = 4;
        break;
    case GRPC_BYTES:
        if (!read_varint(bytes, len, pos, &n))
            return -1;
        break;
    default:
        return -1;
    }
    if (n > len - *pos)
        return -1;
    out->at = *pos;
    out->len = (size_t)n;
    *pos += (size_t)n;
    return 1;
}

size_t grpc_put_varint(uint8_t out[GRPC_VARINT_MAX], uint64_t value)
{
    size_t n = 0;
    do {
        out[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    return n;
}
