/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* JSON text straight into a buffer, indented by two spaces as jansson does it. For documents that
 * are large and written once: a tree of jansson's takes four times as long, and its dump writes
 * byte for byte the same. */
#ifndef OCV_JSON_WRITE_H
#define OCV_JSON_WRITE_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

/** Begin with {.out, .err}. The first failure stays in `status`, and nothing is written after it.
 */
struct ocv_json_writer {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status;
    unsigned depth;
    bool member; /* something comes before the next one in this object or list */
};

/** Open an object ('{') or a list ('['). `key` is NULL in a list and for the document itself. */
void ocv_json_write_open(struct ocv_json_writer *w, const char *key, char bracket);
/** Close it with '}' or ']'. */
void ocv_json_write_close(struct ocv_json_writer *w, char bracket);
/** A string; NULL becomes null. Must be UTF-8. */
void ocv_json_write_string(struct ocv_json_writer *w, const char *key, const char *text);
void ocv_json_write_number(struct ocv_json_writer *w, const char *key, int64_t number);

#endif
