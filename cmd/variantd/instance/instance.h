/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one configuration makes of the daemon: settings, node and mirror. A reload makes another
 * one; requests that run keep theirs to the end. */
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

/** Takes `settings` over, also on failure. `last`: the one that it replaces, or NULL. */
int instance_new(struct settings *settings, struct metrics *metrics, const struct instance *last,
                 struct instance **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Say in the log what the fresh one's probe found otherwise. */
void instance_log_changes(const struct instance *old, const struct instance *fresh,
                          struct metrics *metrics);
/** No request may be running. */
void instance_free(struct instance *instance);

#endif
