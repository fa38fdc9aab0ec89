/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a table, wrapped. A failure is kept in `status`; what follows does nothing then. */
#ifndef OCV_PROBE_LINES_H
#define OCV_PROBE_LINES_H

#include "cmd/variantctl/probe/probe_table.h"

#define TABLE_INDENT 14 /**< width of the heading column */

struct probe_table {
    const struct probe_table_options *options;
    struct ocv_buffer *out;
    size_t column, indent;
    int status;
    struct ocv_error *err;
};

void table_put(struct probe_table *table, const char *text);
/** Begin a line: a heading, then blanks up to `indent`, where its further lines begin as well. */
void table_heading(struct probe_table *table, const char *text, size_t indent);
void table_end(struct probe_table *table);
/** Take back what was put since the buffer had that length. */
void table_drop(struct probe_table *table, size_t before);
/** One word after a blank, on the next line where it does not fit. */
void table_word(struct probe_table *table, const char *text);
/** A text of several words. */
void table_words(struct probe_table *table, const char *text);
/** A whole line. */
void table_line(struct probe_table *table, const char *head, const char *text);

/* ---- devices.c ------------------------------------------------------------------------- */

/** Text of a member; empty where there is none. */
const char *table_text(const json_t *object, const char *key);
/** Whether a list of features offers anything. */
bool table_has_values(const json_t *features);
/** Features with their values, a line each. */
void table_features(struct probe_table *table, const json_t *features, size_t indent);
/** Devices; what the namespace `ns` (or NULL) says of all of them is not said again. */
void table_devices(struct probe_table *table, const json_t *devices, const json_t *ns);

#endif
