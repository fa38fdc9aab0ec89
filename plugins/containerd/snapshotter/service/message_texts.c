/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that protobuf-c omits: it cuts a text at its first NUL, so one name could stand for
 * another, and it accepts invalid UTF-8, which peers could not read in an answer. */
#include "plugins/containerd/snapshotter/service/message.h"

#include "lib/base/text.h"
#include "lib/internal/grpc/fields.h"

#include <string.h>

static enum grpc_code check_text(const uint8_t *text, size_t len, struct ocv_error *err)
{
    if (len && memchr(text, '\0', len))
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "a name or a text contains a NUL");
    for (size_t at = 0, n = 0; at < len; at += n)
        if ((n = ocv_text_character(text + at, len - at)) == 0)
            return snap_fail(err, GRPC_INTERNAL, "a name or a text is not UTF-8");
    return GRPC_OK;
}

/* Nesting depth of the types: request, info, label. */
enum grpc_code snap_message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t len, struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    struct grpc_field found;
    size_t pos = 0;
    int more = 0;
    while (code == GRPC_OK && (more = grpc_field_next(bytes, len, &pos, &found)) == 1) {
        const ProtobufCFieldDescriptor *field =
            found.type == GRPC_BYTES ? protobuf_c_message_descriptor_get_field(type, found.number)
                                     : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_STRING)
            code = check_text(bytes + found.at, found.len, err);
        else if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
            code = snap_message_check(field->descriptor, bytes + found.at, found.len, err);
    }
    return more < 0 ? snap_fail(err, GRPC_INTERNAL, "the request cannot be decoded") : code;
}
