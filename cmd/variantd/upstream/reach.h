/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the registries answer, and let this daemon in? */
#ifndef VARIANTD_REACH_H
#define VARIANTD_REACH_H

#include "cmd/variantd/upstream/upstream.h"

struct reach {
    int status;                      /**< OCV_OK; OCV_ERR_DENIED: the login is refused */
    enum ocv_registry_access access; /**< what it lets anybody do */
    bool login;                      /**< the daemon has one for it */
    bool wrong;                      /**< it fails by what is configured, not by the network */
    struct ocv_error err;
};

/** Ask all registries of the settings at once, for at most REACH_MS each; layouts are fine. `list`
 *  has settings->n_upstreams members. `trusted` false: as anybody would. Blocks. */
void reach_all(struct clients *clients, const struct settings *settings, bool trusted,
               struct reach *list);
#define REACH_MS 3000

#endif
