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

#endif
