/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What protobuf-c does not look at: it cuts a text at its first NUL, so that one name would stand
 * for another, and takes bytes that are no UTF-8, which no peer could read in an answer. */
#include "plugins/containerd/snapshotter/service/message.h"

#include "lib/base/text.h"

#include <string.h>

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static enum grpc_code check_text(const uint8_t *text, size_t len, struct ocv_error *err)
{
    if (len && memchr(text, '\0', len))
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "a name or a text contains a NUL");
    for (size_t at = 0, n = 0; at < len; at += n)
        if ((n = ocv_text_character(text + at, len - at)) == 0)
            return snap_fail(err, GRPC_INTERNAL, "a name or a text is not UTF-8");
    return GRPC_OK;
}

/* A field's bytes where it has a length: behind the tag, up to the next one. */
static bool next_field(const uint8_t **at, const uint8_t *end, uint64_t *tag, const uint8_t **value,
                       size_t *len)
{
    uint64_t n = 0;
    *value = NULL;
    if (!varint(at, end, tag))
        return false;
    switch (*tag & 7) {
    case 0:
        return varint(at, end, &n);
    case 1:
        n = 8;
        break;
    case 2:
        if (!varint(at, end, &n))
            return false;
        *value = *at;
        break;
    case 5:
        n = 4;
        break;
    default:
        return false;
    }
    if (n > (size_t)(end - *at))
        return false;
    *len = (size_t)n;
    *at += n;
    return true;
}

/* Nested as deep as the types are: request, info, label. */
enum grpc_code snap_message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t len, struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    const uint8_t *value;
    size_t value_len = 0;
    uint64_t tag;
    for (const uint8_t *at = bytes, *end = bytes + len; code == GRPC_OK && at < end;) {
        if (!next_field(&at, end, &tag, &value, &value_len))
            return snap_fail(err, GRPC_INTERNAL, "the request cannot be decoded");
        const ProtobufCFieldDescriptor *field =
            value && tag >> 3 <= INT32_MAX
                ? protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3))
                : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_STRING)
            code = check_text(value, value_len, err);
        else if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
            code = snap_message_check(field->descriptor, value, value_len, err);
    }
    return code;
}
