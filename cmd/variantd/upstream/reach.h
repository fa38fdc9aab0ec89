/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether the registries answer, and accept this daemon's login. */
#ifndef VARIANTD_REACH_H
#define VARIANTD_REACH_H

#include "cmd/variantd/upstream/upstream.h"

struct reach {
    int status;                      /**< OCV_OK; OCV_ERR_DENIED: the login is refused */
    enum ocv_registry_access access; /**< what it permits anonymous clients */
    bool login;                      /**< the daemon has a login for it */
    bool wrong;                      /**< it fails because of the configuration, not the network */
    struct ocv_error err;
};

/** Ask all registries of the settings in parallel, for at most REACH_MS each; layouts always
 *  succeed. `list` has settings->n_upstreams members. `trusted` false: ask anonymously. Blocks. */
void reach_all(struct clients *clients, const struct settings *settings, bool trusted,
               struct reach *list);
#define REACH_MS 3000

#endif
