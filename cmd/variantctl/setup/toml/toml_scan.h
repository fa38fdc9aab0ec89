/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of the TOML parser: its position, and shared functions. */
#ifndef OCV_SETUP_TOML_SCAN_H
#define OCV_SETUP_TOML_SCAN_H

#include "cmd/variantctl/setup/toml/toml.h"

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
