/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of an index's variants and a fleet's hosts. */
#ifndef OCV_COVERAGE_H
#define OCV_COVERAGE_H

#include "image.h"

#define COVERAGE_SOURCES_MAX 64u
#define COVERAGE_HOSTS_MAX 10000u
#define COVERAGE_OUTPUT_MAX (256u * 1024 * 1024)

struct coverage_host {
    char *path, *name; /**< the profile's file, and its name without .json */
    struct ocv_profile *profile;
    struct ocv_decision *decision;
};

struct coverage {
    const struct image *image;
    struct coverage_host *hosts;
    size_t n;
};

/** Append a table for people: a row for each entry that hosts may get, a column for each host. */
int coverage_format(const struct coverage *coverage, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the same as JSON. */
int coverage_format_json(const struct coverage *coverage, struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

#endif
