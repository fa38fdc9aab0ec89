/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl probe --format table: a profile as a table for operators. */
#ifndef OCV_PROBE_TABLE_H
#define OCV_PROBE_TABLE_H

#include "ocivariant.h"

#include <jansson.h>

struct probe_table_options {
    const char *sysroot; /**< of the machine, or NULL */
    bool drivers;        /**< it is known which drivers are bound: not in every dump */
    bool all;            /**< long lists in full */
    size_t width;        /**< of the terminal in columns */
};

/** Write the table of a profile that ocv_probe() made with `describe`. */
int probe_table(const struct ocv_buffer *profile, const struct probe_table_options *options,
                struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** The i-th device node of an accelerator that is there and that this user may not open: one
 *  sentence in `out`. False once there is no further known node; `out` is empty for one that is
 *  fine or not there. */
bool probe_access(const char *sysroot, size_t i, char *out, size_t size);

#endif
