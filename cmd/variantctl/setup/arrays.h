/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of elements in JSON and TOML text, and the edits that both notations share. */
#ifndef OCV_SETUP_ARRAYS_H
#define OCV_SETUP_ARRAYS_H

#include "cmd/variantctl/setup/setup.h"

struct array_span {
    size_t from, to;
};

#define ARRAY_SPANS_MAX 1024u

/* Places of an array's elements or an object's members. */
struct array_spans {
    struct array_span list[ARRAY_SPANS_MAX];
    size_t n;
};

/** Behind blanks and line ends; the text ends with NUL. */
size_t array_skip_blank(const char *text, size_t at);
/** First in the array at `open`, in its manner: on a line of its own where the others are. */
int array_insert_first(struct ocv_buffer *text, size_t open, const struct array_spans *spans,
                       const char *quoted, struct ocv_error *err) OCV_WARN_UNUSED;
/** Member or element i goes with one comma. */
int array_remove(struct ocv_buffer *text, size_t open, const struct array_spans *spans, size_t i,
                 struct ocv_error *err) OCV_WARN_UNUSED;

#endif
