/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TOML as text: where each header, key and value stands, and edits that leave every other byte as
 * it is. Invariant: an edit is read again before it is given out, and what it was not asked to
 * change reads as before. */
#ifndef OCV_SETUP_TOML_H
#define OCV_SETUP_TOML_H

#include "ocivariant.h"

#define TOML_MAX (1024u * 1024) /**< bytes of a configuration file */
#define TOML_DEPTH_MAX 64u      /**< arrays and inline tables in one another */
#define TOML_ITEMS_MAX 32768u   /**< headers and keys of a file */
#define TOML_KEY_MAX 4096u      /**< bytes of a whole path of keys */

/** Between the keys of a path: "plugins" TOML_DOT "cri" TOML_DOT "registry". */
#define TOML_DOT "\x1f"

enum toml_kind { TOML_TABLE, TOML_ARRAY_TABLE, TOML_VALUE };
#define TOML_NONE ((size_t)-1)

/** One header or one key with its value. Offsets count bytes of the text. */
struct toml_item {
    enum toml_kind kind;
    bool inside;     /**< the key is in an inline table */
    char *path;      /**< from the root; owned */
    size_t line;     /**< start of the line that the item begins on */
    size_t line_end; /**< behind the newline of its last line; of no use where `inside` */
    size_t key;      /**< first byte of the key, or the header's "[" */
    size_t start;    /**< first byte of the value, or the header's "[" */
    size_t end;      /**< behind the value, or the header's "]" */
    size_t header;   /**< item of the header above, or TOML_NONE */
};

struct toml {
    const char *text; /**< borrowed */
    size_t len;
    struct toml_item *items;
    size_t count;
};

/** Read. `source` names the file in messages. Not TOML: OCV_ERR_DATA "SOURCE:LINE: ...". The text
 *  must outlive the result. */
int toml_scan(const char *source, const char *text, size_t len, struct toml *out,
              struct ocv_error *err) OCV_WARN_UNUSED;
void toml_free(struct toml *toml);
#define toml_auto __attribute__((cleanup(toml_free))) struct toml

/** The value at a path outside arrays of tables, or NULL. */
const struct toml_item *toml_find(const struct toml *toml, const char *path);
/** The value of a key directly under the header item `header`, or NULL. */
const struct toml_item *toml_find_under(const struct toml *toml, size_t header, const char *key);
/** True if the path is `top` or below it. */
bool toml_path_under(const char *path, const char *top);
/** Behind the last line that belongs to the header item. */
size_t toml_block_end(const struct toml *toml, size_t header);

/** A string value decoded; NULL if it is not a string or memory is short. Owned. */
char *toml_string(const struct toml *toml, const struct toml_item *item);
/** The strings of an array, or one string alone, by repeated calls with *at = 0 at first; NULL at
 *  the end or at what is not a string. `start` and `end` (may be NULL): its place. Owned. */
char *toml_next_string(const struct toml *toml, const struct toml_item *item, size_t *at,
                       size_t *start, size_t *end);

/** True if the value is an array of strings and of nothing else. */
bool toml_is_strings(const struct toml *toml, const struct toml_item *item);
/** TABLE and KEY as one path, owned; NULL: no memory. */
char *toml_join(const char *table, const char *key, struct ocv_error *err);
/** Append a basic string with quotes. */
int toml_quote(struct ocv_buffer *out, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a path as dotted keys, quoted where needed. */
int toml_quote_path(struct ocv_buffer *out, const char *path,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** "\r\n" or "\n", as the text has it. */
const char *toml_newline(const char *text, size_t len);

/** Copy `text` into `copy`, which this initialises, scan the copy, and join `table` and `key` into
 *  `path`, owned. Items point into the copy, so that they hold while `text` is edited. */
int toml_scan_copy(const char *source, const struct ocv_buffer *text, const char *table,
                   const char *key, struct ocv_buffer *copy, struct toml *toml, char **path,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Replace bytes [from, to) of `text`. */
int text_splice(struct ocv_buffer *text, size_t from, size_t to, const char *bytes, size_t len,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Set `key` in the table at path `table` to the raw value, where it stands or in a new line. */
int toml_set(const char *source, struct ocv_buffer *text, const char *table, const char *key,
             const char *raw, struct ocv_error *err) OCV_WARN_UNUSED;
/** After an edit: the text is TOML still, and every value that is not under `path` reads as before.
 */
int toml_check_others(const char *source, const struct toml *before, const struct ocv_buffer *text,
                      const char *path, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the key with its line; `table_too`: and the header, when nothing is left under it. */
int toml_unset(const char *source, struct ocv_buffer *text, const char *table, const char *key,
               bool table_too, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
