/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions of elements in JSON and TOML text, and edits common to both. */
#ifndef OCV_SETUP_ARRAYS_H
#define OCV_SETUP_ARRAYS_H

#include "cmd/variantctl/setup/setup.h"

struct array_span {
    size_t from, to;
};

#define ARRAY_SPANS_MAX 1024u

/* Positions of an array's elements or an object's members. */
struct array_spans {
    struct array_span list[ARRAY_SPANS_MAX];
    size_t n;
};

/** The position after blanks and line ends; the text ends with NUL. */
size_t array_skip_blank(const char *text, size_t at);
/** Insert as the first element of the array at `open`, on a line of its own if the others are. */
int array_insert_first(struct ocv_buffer *text, size_t open, const struct array_spans *spans,
                       const char *quoted, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove member or element i with one comma. */
int array_remove(struct ocv_buffer *text, size_t open, const struct array_spans *spans, size_t i,
                 struct ocv_error *err) OCV_WARN_UNUSED;

#endif
