/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This node's records by vpull and variantd, looked up by label: when containerd's own client
 * unpacks, it names neither image nor digest, only the layer's annotations. */
#ifndef OCV_SNAPSHOTTER_RECORDS_H
#define OCV_SNAPSHOTTER_RECORDS_H

#include "lib/internal/records/records.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stddef.h>

#define RECORDS_MAX 16u /**< different meanings of one label that are considered */

struct record_set {
    struct ocv_record records[RECORDS_MAX];
    size_t n;
    bool full; /**< there are more than RECORDS_MAX */
};

/** Records with the label, one for each set of properties; it is not an error if there are none. It
 *  is one if records cannot be read: nothing is known then. */
int records_by_label(const char *dir, const char *label, struct record_set *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
void records_free(struct record_set *set);

#endif
