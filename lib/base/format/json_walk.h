/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading a few members of JSON from outside, without a tree: a tree of small values takes up to 75
 * times its text, and an error page or a token is worth no more than its bytes. */
#ifndef OCV_JSON_WALK_H
#define OCV_JSON_WALK_H

#include "ocivariant/error.h"

#include <stddef.h>

#define OCV_JSON_WALK_DEPTH 64u /**< levels; more are malformed */
#define OCV_JSON_WALK_KEYS 3u   /**< levels whose keys are told; what is deeper is not visited */
#define OCV_JSON_WALK_KEY 32u   /**< a longer key is told as "" */

/** One value. */
struct ocv_json_at {
    char keys[OCV_JSON_WALK_KEYS][OCV_JSON_WALK_KEY]; /**< "[]" stands for an item of a list */
    unsigned depth;                                   /**< of them that count */
    char kind;        /**< '"' string, '0' number, 'b' true or false, 'n' null, '[' and '{' */
    const char *text; /**< of a string, without escapes, or of a number; else NULL */
};

/** Call `visit` for each value, in their order, until it returns something else than 0; that is
 *  returned. Malformed text, or no object: OCV_ERR_DATA, maybe after some calls. A string with
 *  U+0000 ends there. Takes `len` bytes of memory. */
int ocv_json_walk(const char *text, size_t len,
                  int (*visit)(void *data, const struct ocv_json_at *at), void *data,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Is this the value of that path, as in "errors", "[]", "code"? NULL ends it early. */
bool ocv_json_is_at(const struct ocv_json_at *at, const char *first, const char *second,
                    const char *third);

#endif
