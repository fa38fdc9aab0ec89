/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Fields of protobuf messages, for what has no generated code or must not lose a byte. */
#ifndef OCV_GRPC_FIELDS_H
#define OCV_GRPC_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#define GRPC_VARINT_MAX 10u

enum grpc_wire_type { GRPC_VARINT = 0, GRPC_FIXED64 = 1, GRPC_BYTES = 2, GRPC_FIXED32 = 5 };

struct grpc_field {
    uint32_t number; /**< 1 to 2^29 - 1 */
    enum grpc_wire_type type;
    size_t start, at, len; /**< of GRPC_BYTES: the tag, the bytes, their number */
};
/** The next field from `*pos`: 1, 0 at the end, -1 where the message is malformed. Groups, which
 * are obsolete, are. */
int grpc_field_next(const uint8_t *bytes, size_t len, size_t *pos, struct grpc_field *out);
/** How many bytes a number has. */
size_t grpc_put_varint(uint8_t out[GRPC_VARINT_MAX], uint64_t value);

#endif
