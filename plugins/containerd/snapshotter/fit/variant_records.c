/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/fit/variant_records.h"
#include "lib/internal/records/records.h"

#include "ocivariant.h"

#include <string.h>

/* A search and its result. */
struct record_search {
    const char *label;
    struct record_set *set;
};

static bool is_known(const struct record_set *set, const struct ocv_record *record)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->records[i].properties, record->properties) == 0 &&
            strcmp(set->records[i].statics ? set->records[i].statics : "",
                   record->statics ? record->statics : "") == 0)
            return true;
    return false;
}

static int take_record(void *data, const struct ocv_record *record)
{
    const struct record_search *search = data;
    struct record_set *set = search->set;
    if (!record->label || strcmp(record->label, search->label) != 0 || !record->properties ||
        is_known(set, record))
        return OCV_OK;
    if (set->n == RECORDS_MAX) {
        set->full = true;
        return 1;
    }
    struct ocv_record one = *record;
    one.reference = record->reference ? record->reference : record->repository;
    int status = ocv_record_copy(&one, &set->records[set->n], NULL);
    set->n += status == OCV_OK;
    return status;
}

int records_by_label(const char *dir, const char *label, struct record_set *out,
                     struct ocv_error *err)
{
    struct record_search search = {label, out};
    *out = (struct record_set){0};
    int status = dir ? ocv_record_walk(dir, NULL, NULL, take_record, &search, err) : OCV_OK;
    if (status >= 0)
        return OCV_OK;
    records_free(out);
    return status;
}

void records_free(struct record_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        ocv_record_free(&set->records[i]);
    set->n = 0;
}
