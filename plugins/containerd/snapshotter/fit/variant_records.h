/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What vpull and variantd resolved on this node, looked up by label: containerd's own client names
 * neither image nor digest when it unpacks, only what the author annotated the layer with. */
#ifndef OCV_SNAPSHOTTER_RECORDS_H
#define OCV_SNAPSHOTTER_RECORDS_H

#include "lib/records/records.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stddef.h>

#define RECORDS_MAX 16u /**< different meanings of one label that are looked at */

struct record_set {
    struct ocv_record records[RECORDS_MAX];
    size_t n;
    bool full; /**< there are more */
};

/** Records with the label, one for each set of properties; none is not an error. What cannot be
 * read is one: nothing is known then. */
int records_by_label(const char *dir, const char *label, struct record_set *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
void records_free(struct record_set *set);

#endif
