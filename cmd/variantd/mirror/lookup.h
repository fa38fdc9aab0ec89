/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of a look-up. */
#ifndef VARIANTD_LOOKUP_H
#define VARIANTD_LOOKUP_H

#include "cmd/variantd/mirror/mirror_internal.h"

/** State of one look-up. */
struct lookup {
    struct mirror *mirror;
    const struct lookup_target *q;
    struct source from; /* its client is made when first needed */
    const struct snapshot *snapshot;
    int status; /* of the failure, if any */
    struct ocv_record_note *note;
};

/** Adds the identity, the first part of every key. */
void lookup_key(const struct lookup *lookup, struct key *key);
int lookup_need_client(struct lookup *lookup, struct ocv_error *err) OCV_WARN_UNUSED;
struct lookup_result *lookup_failed(struct lookup *lookup, const struct ocv_error *err);
/** The chosen child if upstream has it, else the reason why not. */
struct lookup_result *lookup_check_child(struct lookup *lookup, const struct ocv_descriptor *wanted,
                                         bool body);

#endif
