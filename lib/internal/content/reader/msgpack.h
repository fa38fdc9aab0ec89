/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), as far as the tables of
 * AMD's kpack need it: values are walked in place, nothing is copied and nothing recurses. What is
 * not as wanted sets `bad`, and then all numbers are 0 and all texts empty. */
#ifndef OCV_CONTENT_MSGPACK_H
#define OCV_CONTENT_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The bytes that are left. */
struct ocv_msgpack {
    const unsigned char *at, *end;
    bool bad;
};

/** A text, not ended by NUL; points into the bytes. */
struct ocv_msgpack_text {
    const char *text;
    size_t len;
};

/** Pairs of the map that begins here. */
uint32_t ocv_msgpack_map(struct ocv_msgpack *m);
/** Values of the array that begins here. */
uint32_t ocv_msgpack_array(struct ocv_msgpack *m);
struct ocv_msgpack_text ocv_msgpack_text(struct ocv_msgpack *m);
uint64_t ocv_msgpack_number(struct ocv_msgpack *m);
/** Pass over a value with all that is in it. */
void ocv_msgpack_skip(struct ocv_msgpack *m);

/** Is it this text? */
bool ocv_msgpack_is(struct ocv_msgpack_text text, const char *other);

#endif
