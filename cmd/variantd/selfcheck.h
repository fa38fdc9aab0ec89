/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does the daemon still answer? Asked from outside, as a client would. */
#ifndef VARIANTD_SELFCHECK_H
#define VARIANTD_SELFCHECK_H

#include "cmd/variantd/server.h"

#define SELFCHECK_MS 2000

enum selfcheck {
    SELFCHECK_ALIVE,
    SELFCHECK_FOREIGN, /**< another program answers at the mirror's address */
    SELFCHECK_DEAD,
};

/** GET /v2/ on the mirror's port and /v1/healthz on the socket, each within SELFCHECK_MS. Where a
 *  crowd of clients is before us and moves, its end need not be waited for: clients cannot make the
 *  daemon look as if it hung. */
enum selfcheck selfcheck(struct server *server);
/** The mirror's part of it, at an address and a port. */
enum selfcheck selfcheck_mirror(struct server *server, const char *listen_address, unsigned port);

#endif
