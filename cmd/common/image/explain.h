/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decision as text for users. */
#ifndef OCV_EXPLAIN_H
#define OCV_EXPLAIN_H

#include "cmd/common/image/image.h"

/** The whole table: what was chosen, the rank of each entry that fits, and why the others do
 *  not. */
int explain_format(const struct cli *cli, const struct image *image,
                   const struct ocv_decision *decision, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The entry's matched properties, "ns :: feature :: value, ..."; at most `max`, then "and N more".
 */
int explain_matched(const struct image *image, const struct ocv_decision *decision,
                    const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The same in few words, "CUDA 12.8, sm_90", for one line; without what the index itself ranks by.
 */
int explain_brief(const struct image *image, const struct ocv_decision *decision,
                  const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** "LABEL" ("LABEL+FEATURE" for a twin in another format); "the default" in an index with
 *  variants; else "(entry N)". For a table's first column. Returns `out`. */
const char *explain_name(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                         size_t size);
/** The same for the chosen entry, with "an image without variants" in an index that has none. */
const char *explain_choice(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                           size_t size);

#endif
