/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the daemon makes of one configuration: settings, node and mirror. A reload makes another
 * instance; running requests keep theirs. */
#ifndef VARIANTD_INSTANCE_H
#define VARIANTD_INSTANCE_H

#include "cmd/variantd/mirror/mirror.h"

#include <stdatomic.h>

struct instance {
    struct settings *settings;
    struct node *node;
    struct mirror *mirror;
    atomic_uint_fast64_t running; /**< requests that use it */
    struct instance *next;        /**< in the list of retired ones */
};

/** Takes over `settings`, even on failure. `last`: the instance to be replaced, or NULL. */
int instance_new(struct settings *settings, struct metrics *metrics, const struct instance *last,
                 struct instance **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Log the differences that the new instance's probe found. */
void instance_log_changes(const struct instance *old, const struct instance *fresh,
                          struct metrics *metrics);
/** Call without running requests. */
void instance_free(struct instance *instance);

#endif
