/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index in the making: entries in the order given, then written in the layout that old clients
 * read well (specification section 2: defaults first, every other variant under an x- variant). */
#ifndef OCV_INDEX_WRITE_H
#define OCV_INDEX_WRITE_H

#include "cli.h"

#include <jansson.h>

struct plan_entry {
    char *label; /* NULL: --default */
    struct ocv_descriptor descriptor;
    char *os, *architecture, *variant; /* of the image config; variant may be NULL */
    char *os_version;                  /* NULL but on Windows */
    json_t *os_features;               /* a list, or NULL */
    char *properties;                  /* canonical */
    bool is_default;                   /* gets the plain platform, stands first */
};

/** Zero-initialise; index_plan_free at the end. */
struct index_plan {
    struct plan_entry *entries;
    size_t count;
    char *namespaces;    /* canonical list, or NULL: by the default rule */
    json_t *annotations; /* of the index, in the order given */
};

int index_plan_add(struct index_plan *plan, const char *label,
                   const struct ocv_properties *properties, const struct ocv_descriptor *descriptor,
                   const struct ocv_buffer *config, struct ocv_error *err);
int index_plan_namespaces(struct index_plan *plan, const char *text, struct ocv_error *err);
int index_plan_static(struct index_plan *plan, const char *text, struct ocv_error *err);
int index_plan_annotation(struct index_plan *plan, const char *text, struct ocv_error *err);
/** Order the entries, check what makes an index ambiguous, and write its bytes. The result is read
 *  back with ocv_index_parse: an index that this library would not fully use is an error. */
int index_plan_format(struct index_plan *plan, struct ocv_buffer *out, struct ocv_error *err);
/** Tell the publisher what old clients will not find. */
void index_plan_warn(const struct index_plan *plan, const struct cli *cli);
void index_plan_free(struct index_plan *plan);

#endif
