/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Strict reading of JSON from outside: UTF-8, no duplicate keys, bounded depth and size. */
#ifndef OCV_JSON_H
#define OCV_JSON_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <jansson.h>
#include <stddef.h>

/** Parse a JSON object of at most `max` bytes. `what` names the document in messages ("index").
 *  Members that are null are left out, at every level: Go writes empty lists and pointers so. */
int ocv_json_load(const char *what, const void *bytes, size_t len, size_t max, json_t **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Leave out the members that are null, at every level. */
void ocv_json_drop_null(json_t *json);
/** Limit on the values of an index or a manifest: a tree of small values takes up to 50 times its
 * bytes, 200 MiB for a document of 4. An object counts three times, and 4,096 entries with all that
 * they may have come to half of it. */
#define OCV_JSON_VALUES_MAX (256u * 1024)
/** ocv_json_load, with a limit on the values as they are counted above, before there is a tree. All
 *  that comes from a registry or from a program is read with one. */
int ocv_json_load_counted(const char *what, const void *bytes, size_t len, size_t max,
                          size_t values, json_t **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Bytes that come from outside and are another shape than an object, are written again with their
 *  nulls, or are named with a line: json_loadb with such a limit. NULL with `where` (may be NULL)
 * if they are malformed or have more values. */
json_t *ocv_json_load_any(const void *bytes, size_t len, size_t values, size_t flags,
                          json_error_t *where) OCV_WARN_UNUSED;
/** A plain object as jansson would read it with JSON_REJECT_DUPLICATES
 * (lib/base/format/json_plain.c); NULL for what has to be read by jansson, and `*nomem` when memory
 * ran out. */
json_t *ocv_json_plain(const char *text, size_t len, bool *nomem) OCV_WARN_UNUSED;
/** The object under `key`, made if it is missing or null; NULL without memory, or where `object` is
 *  NULL. Borrowed. */
static inline json_t *ocv_json_object(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    if (json_is_object(member))
        return member;
    member = json_object();
    return json_object_set_new(object, key, member) < 0 ? NULL : member;
}
/** A member's text, or NULL (`otherwise`) if it is none. Borrowed. */
static inline const char *ocv_json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}
static inline const char *ocv_json_text_or(const json_t *object, const char *key,
                                           const char *otherwise)
{
    const char *text = ocv_json_text(object, key);
    return text ? text : otherwise;
}
/** A member's text, or NULL if it is none or an empty one. Borrowed. */
static inline const char *ocv_json_some_text(const json_t *object, const char *key)
{
    const char *text = ocv_json_text(object, key);
    return text && *text ? text : NULL;
}
/** Append `json` as text with jansson's flags. */
int ocv_json_append(const json_t *json, size_t flags, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** A string member: NULL and OCV_OK when absent; another type is OCV_ERR_DATA. */
int ocv_json_string(const json_t *object, const char *what, const char *key, const char **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

static inline void json_decref_cleanup(json_t **json)
{
    json_decref(*json);
}
#define ocv_auto_json __attribute__((cleanup(json_decref_cleanup))) json_t

/* Reading a few members of JSON from outside, without a tree: a tree of small values takes up to 75
 * times its text, and an error page or a token is worth no more than its bytes. */

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

/* JSON text straight into a buffer, indented by two spaces as jansson does it. For documents that
 * are large and written once: a tree of jansson's takes four times as long, and its dump writes
 * byte for byte the same. */

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
