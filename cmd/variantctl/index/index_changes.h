/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What changed from one index to another: for `index diff`, and for verbs that have just written an
 * index. */
#ifndef OCV_INDEX_CHANGES_H
#define OCV_INDEX_CHANGES_H

#include "ocivariant/buffer.h"
#include "ocivariant/index.h"

#include <jansson.h>

/** One of the two, and the document that it was parsed from. */
struct changes_side {
    const struct ocv_index *index;
    const struct ocv_buffer *body;
    const char *digest;
};

/** The differences, as `index diff --format json` prints them; NULL where memory ran out. */
json_t *changes_between(const struct changes_side *old, const struct changes_side *new);
/** The same in words, on standard output: a line for each change. */
void changes_print(const json_t *changes);
/** The builds that the new one does not have, as "cuda12.8 (linux/amd64), ..." cut to `size`; empty
 *  where none is gone. Returns `out`. */
const char *changes_gone(const json_t *changes, char *out, size_t size);

#endif
