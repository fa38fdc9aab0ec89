/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TOML as text: positions of each header, key and value, and edits that keep every other byte.
 * Invariant: the result of an edit is parsed again before it is returned, and everything outside
 * the edited path must read as before. */
#ifndef OCV_SETUP_TOML_H
#define OCV_SETUP_TOML_H

#include "ocivariant.h"

#define TOML_MAX (1024u * 1024) /**< bytes of a configuration file */
#define TOML_DEPTH_MAX 64u      /**< nesting of arrays and inline tables */
#define TOML_ITEMS_MAX 32768u   /**< headers and keys in a file */
#define TOML_KEY_MAX 4096u      /**< bytes of a complete key path */

/** Between the keys of a path: "plugins" TOML_DOT "cri" TOML_DOT "registry". */
#define TOML_DOT "\x1f"

enum toml_kind { TOML_TABLE, TOML_ARRAY_TABLE, TOML_VALUE };
#define TOML_NONE ((size_t)-1)

/** A header, or a key with its value. Offsets are in bytes of the text. */
struct toml_item {
    enum toml_kind kind;
    bool inside;     /**< the key is in an inline table */
    char *path;      /**< from the root; owned */
    size_t line;     /**< start of the item's first line */
    size_t line_end; /**< after the newline of its last line; unused if `inside` */
    size_t key;      /**< first byte of the key, or the header's "[" */
    size_t start;    /**< first byte of the value, or the header's "[" */
    size_t end;      /**< after the value, or the header's "]" */
    size_t header;   /**< item of the header above, or TOML_NONE */
};

struct toml {
    const char *text; /**< borrowed */
    size_t len;
    struct toml_item *items;
    size_t count;
};

/** Parse. `source` names the file in messages. OCV_ERR_DATA "SOURCE:LINE: ..." if it is not TOML.
 *  The text must outlive the result. */
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
/** Position after the last line that belongs to the header item. */
size_t toml_block_end(const struct toml *toml, size_t header);

/** A string value, decoded and owned by the caller; NULL if it is not a string, or without
 *  memory. */
char *toml_string(const struct toml *toml, const struct toml_item *item);
/** Iterate over the strings of an array, or a single string; start with *at = 0. NULL at the end or
 *  at a value that is not a string. `start` and `end` (may be NULL): its position. Owned by the
 *  caller. */
char *toml_next_string(const struct toml *toml, const struct toml_item *item, size_t *at,
                       size_t *start, size_t *end);

/** True if the value is an array that contains only strings. */
bool toml_is_strings(const struct toml *toml, const struct toml_item *item);
/** TABLE and KEY as one path, owned by the caller; NULL without memory. */
char *toml_join(const char *table, const char *key, struct ocv_error *err);
/** Append a basic string with quotes. */
int toml_quote(struct ocv_buffer *out, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a path as dotted keys, quoted where needed. */
int toml_quote_path(struct ocv_buffer *out, const char *path,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The text's line end, "\r\n" or "\n". */
const char *toml_newline(const char *text, size_t len);

/** Copy `text` into `copy`, which this initialises, parse the copy, and join `table` and `key` into
 *  `path`, owned. Items point into the copy, so they stay valid while `text` is edited. */
int toml_scan_copy(const char *source, const struct ocv_buffer *text, const char *table,
                   const char *key, struct ocv_buffer *copy, struct toml *toml, char **path,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Replace bytes [from, to) of `text`. */
int text_splice(struct ocv_buffer *text, size_t from, size_t to, const char *bytes, size_t len,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Set `key` in the table at path `table` to the raw value, in its place or on a new line. */
int toml_set(const char *source, struct ocv_buffer *text, const char *table, const char *key,
             const char *raw, struct ocv_error *err) OCV_WARN_UNUSED;
/** After an edit: check that the text is still TOML, and that every value outside `path` reads as
 *  before. */
int toml_check_others(const char *source, const struct toml *before, const struct ocv_buffer *text,
                      const char *path, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the key with its line; `table_too`: also the header if nothing is left under it. */
int toml_unset(const char *source, struct ocv_buffer *text, const char *table, const char *key,
               bool table_too, struct ocv_error *err) OCV_WARN_UNUSED;

/* Internals of the TOML parser: its position, and shared functions. */

struct toml_scanner {
    const char *source, *text;
    size_t len, at, first; /* first: after a byte order mark, which belongs to no line */
    struct toml *out;
    struct ocv_buffer path; /* of the current key; its length is the position in the tree */
    size_t header;
    struct ocv_error *err;
};

/** OCV_ERR_DATA "SOURCE:LINE: WHAT" for the current position. */
int toml_fail(struct toml_scanner *s, const char *what);
/** The next byte, or -1 at the end. */
int toml_peek(const struct toml_scanner *s);
bool toml_looking_at(const struct toml_scanner *s, const char *word);
void toml_skip_blanks(struct toml_scanner *s);
void toml_skip_comment(struct toml_scanner *s);
bool toml_skip_newline(struct toml_scanner *s);
/** Skip blanks, line ends and comments, as between the members of an array. */
void toml_skip_lines(struct toml_scanner *s);
/** Read "...", '...' or their multi-line forms; decode into `out` unless that is NULL. */
int toml_read_string(struct toml_scanner *s, struct ocv_buffer *out);

#endif
