/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that the daemon still answers, by asking it as a client. */
#ifndef VARIANTD_SELFCHECK_H
#define VARIANTD_SELFCHECK_H

#include "cmd/variantd/server.h"

#define SELFCHECK_MS 2000

enum selfcheck {
    SELFCHECK_ALIVE,
    SELFCHECK_FOREIGN, /**< another program answers at the mirror's address */
    SELFCHECK_DEAD,
};

/** GET /v2/ on the mirror's port and /v1/healthz on the socket, each within SELFCHECK_MS. A moving
 *  queue of clients counts as an answer: clients must not be able to make the daemon look hung. */
enum selfcheck selfcheck(struct server *server);
/** Only the mirror's part, at an address and a port. */
enum selfcheck selfcheck_mirror(struct server *server, const char *listen_address, unsigned port);

#endif
