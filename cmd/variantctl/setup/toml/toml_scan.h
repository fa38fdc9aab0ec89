/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the TOML reader: where it stands, and what its parts share. */
#ifndef OCV_SETUP_TOML_SCAN_H
#define OCV_SETUP_TOML_SCAN_H

#include "cmd/variantctl/setup/toml/toml.h"

struct toml_scanner {
    const char *source, *text;
    size_t len, at, first; /* first: behind a byte order mark, which belongs to no line */
    struct toml *out;
    struct ocv_buffer path; /* of what is being read; its length is the place in the tree */
    size_t header;
    struct ocv_error *err;
};

/** OCV_ERR_DATA "SOURCE:LINE: WHAT" for the place where the reader stands. */
int toml_fail(struct toml_scanner *s, const char *what);
/** The next byte, or -1 at the end. */
int toml_peek(const struct toml_scanner *s);
bool toml_looking_at(const struct toml_scanner *s, const char *word);
void toml_skip_blanks(struct toml_scanner *s);
void toml_skip_comment(struct toml_scanner *s);
bool toml_skip_newline(struct toml_scanner *s);
/** Blanks, line ends and comments: what may stand between the members of an array. */
void toml_skip_lines(struct toml_scanner *s);
/** "...", '...' and their forms over several lines; decoded into `out` unless that is NULL. */
int toml_read_string(struct toml_scanner *s, struct ocv_buffer *out);

#endif
