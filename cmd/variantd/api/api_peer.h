/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The peer of a connection on the unix socket. */
#ifndef VARIANTD_API_PEER_H
#define VARIANTD_API_PEER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/types.h>

/** May the peer on the unix socket know what the daemon's credentials can read? Root, the daemon's
 *  own user and the group `ocivariant` may. `*user`: who it is, -1 where that cannot be told. */
bool api_trusted(struct MHD_Connection *connection, uid_t *user);

#endif
