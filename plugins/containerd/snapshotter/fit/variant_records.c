/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/fit/variant_records.h"

#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

/* Who is looked for, and what was found. */
struct search {
    const char *label;
    struct record_set *set;
};

static bool known(const struct record_set *set, const struct ocv_record *record)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->records[i].properties, record->properties) == 0 &&
            strcmp(set->records[i].statics, record->statics ? record->statics : "") == 0)
            return true;
    return false;
}

static int take(void *data, const struct ocv_record *record)
{
    const struct search *search = data;
    struct record_set *set = search->set;
    if (!record->label || strcmp(record->label, search->label) != 0 || !record->properties ||
        known(set, record))
        return OCV_OK;
    if (set->n == RECORDS_MAX) {
        set->full = true;
        return 1;
    }
    const char *of = record->reference ? record->reference : record->repository;
    struct record *r = &set->records[set->n];
    *r = (struct record){.digest = strdup(record->child),
                         .properties = strdup(record->properties),
                         .statics = strdup(record->statics ? record->statics : ""),
                         .reference = strdup(of)};
    set->n++;
    return r->digest && r->properties && r->statics && r->reference ? OCV_OK : OCV_ERR_NOMEM;
}

int records_by_label(const char *dir, const char *label, struct record_set *out,
                     struct ocv_error *err)
{
    struct search search = {label, out};
    *out = (struct record_set){0};
    int status = dir ? ocv_record_walk(dir, NULL, NULL, take, &search, err) : OCV_OK;
    if (status >= 0)
        return OCV_OK;
    records_free(out);
    return status;
}

void records_free(struct record_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->records[i].digest);
        free(set->records[i].properties);
        free(set->records[i].statics);
        free(set->records[i].reference);
    }
    set->n = 0;
}
