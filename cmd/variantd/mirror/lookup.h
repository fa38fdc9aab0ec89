/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of a look-up share. */
#ifndef VARIANTD_LOOKUP_H
#define VARIANTD_LOOKUP_H

#include "cmd/variantd/mirror/mirror_internal.h"

/** One look-up's tools. */
struct lookup {
    struct mirror *mirror;
    const struct lookup_target *q;
    struct source from; /* its client is taken when it is first needed */
    const struct snapshot *snapshot;
    int status; /* of the failure, if there was one */
};

/** The identity, first part of every key. */
void lookup_key(const struct lookup *lookup, struct key *key);
int lookup_need_client(struct lookup *lookup, struct ocv_error *err) OCV_WARN_UNUSED;
struct lookup_result *lookup_failed(struct lookup *lookup, const struct ocv_error *err);
/** The chosen child, seen to be there, or why not. */
struct lookup_result *lookup_check_child(struct lookup *lookup, const struct ocv_descriptor *wanted,
                                         bool body);

#endif
