/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences between two indexes, for `index diff` and for verbs that write an index. */
#ifndef OCV_INDEX_CHANGES_H
#define OCV_INDEX_CHANGES_H

#include "ocivariant/buffer.h"
#include "ocivariant/index.h"

#include <jansson.h>
#include <stdio.h>

/** One of the two indexes, and its document. */
struct changes_side {
    const struct ocv_index *index;
    const struct ocv_buffer *body;
    const char *digest;
};

/** The differences, as `index diff --format json` prints them; NULL without memory. */
json_t *changes_between(const struct changes_side *old, const struct changes_side *new);
/** Print them as text, a line for each change. */
void changes_print(const json_t *changes, FILE *out);
/** The builds missing from the new index, as "cuda12.8 (linux/amd64), ..." cut to `size`; empty if
 *  none is. Returns `out`. */
const char *changes_gone(const json_t *changes, char *out, size_t size);

#endif
