/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl probe --format table: a profile as a table for operators. */
#ifndef OCV_PROBE_TABLE_H
#define OCV_PROBE_TABLE_H

#include "ocivariant.h"

#include <jansson.h>

struct probe_table_options {
    const char *sysroot; /**< of the machine, or NULL */
    bool drivers;        /**< it is known which drivers are bound; some dumps lack this */
    bool all;            /**< print long lists in full */
    size_t width;        /**< of the terminal in columns */
};

/** Print the table of a profile made by ocv_probe() with `describe`. */
int probe_table(const struct ocv_buffer *profile, const struct probe_table_options *options,
                struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** The i-th known device node. `out` is a sentence if the node exists and this user may not open
 *  it, else empty. False after the last known node. */
bool probe_access(const char *sysroot, size_t i, char *out, size_t size);

/* Lines of a table, wrapped. The first failure is kept in `status`; later calls then do nothing. */

#define TABLE_INDENT 14 /**< width of the heading column */

struct probe_table {
    const struct probe_table_options *options;
    struct ocv_buffer *out;
    size_t column, indent;
    int status;
    struct ocv_error *err;
};

void table_put(struct probe_table *table, const char *text);
/** Begin a line: a heading, then blanks up to `indent`, where continuation lines begin too. */
void table_heading(struct probe_table *table, const char *text, size_t indent);
void table_end(struct probe_table *table);
/** Add a blank and a word, on the next line if it does not fit. */
void table_word(struct probe_table *table, const char *text);
/** Add a text of several words. */
void table_words(struct probe_table *table, const char *text);
/** Add a whole line. */
void table_line(struct probe_table *table, const char *head, const char *text);

/** True if a list of features has values. */
bool table_has_values(const json_t *features);
/** Features with their values, one line each. */
void table_features(struct probe_table *table, const json_t *features, size_t indent);
/** Devices, without details that apply to the whole namespace `ns` (may be NULL). */
void table_devices(struct probe_table *table, const json_t *devices, const json_t *ns);

#endif
