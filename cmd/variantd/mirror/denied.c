/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registries that deny access. The client gets 404 and pulls the image without a choice; only the
 * log shows why. */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS (3600 * 1000)

static struct denied *denied_of(struct mirror *m, const struct upstream *upstream,
                                enum identity identity)
{
    return &m->denied[2 * (size_t)(upstream - m->settings->upstreams) +
                      (identity == IDENTITY_DAEMON)];
}

void denied_remember(struct mirror *m, const struct upstream *upstream, enum identity identity,
                     const struct ocv_reference *reference, const struct ocv_error *err)
{
    int64_t now = ocv_clock_ms();
    pthread_mutex_lock(&m->lock);
    struct denied *d = denied_of(m, upstream, identity);
    bool tell = !d->told_ms || now - d->told_ms > AGAIN_MS;
    d->n++;
    if (tell) {
        d->told_ms = now;
        snprintf(d->name, sizeof(d->name), "%.250s", reference->name);
    }
    pthread_mutex_unlock(&m->lock);
    bool has_login = m->private[upstream - m->settings->upstreams];
    if (!tell)
        log_line(LOG_LEVEL_DEBUG, "%s", err->message);
    else if (identity == IDENTITY_DAEMON)
        log_line(LOG_LEVEL_WARNING, "%s; its variants are not served: %s", err->message, err->hint);
    else if (has_login)
        log_line(
            LOG_LEVEL_WARNING,
            "%s; podman, CRI-O and Docker's own store ask in a way that only `serve_private: "
            "true` answers with what needs a login (docs/configuration.md, Private registries)",
            err->message);
    else
        log_line(LOG_LEVEL_WARNING,
                 "%s; if it is private, its variants are served where `credentials` names a login "
                 "for %s (docs/configuration.md, Private registries)",
                 err->message, upstream->name);
}
