/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The peer of a connection on the unix socket. */
#ifndef VARIANTD_API_PEER_H
#define VARIANTD_API_PEER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/types.h>

/** True if the peer on the unix socket may know what the daemon's credentials can read: root, the
 *  daemon's own user and the group `ocivariant`. `*user`: the peer's user, -1 if unknown. */
bool api_trusted(struct MHD_Connection *connection, uid_t *user);

#endif
