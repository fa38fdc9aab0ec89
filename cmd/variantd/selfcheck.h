/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does the daemon still answer? Asked from outside, as a client would. */
#ifndef VARIANTD_SELFCHECK_H
#define VARIANTD_SELFCHECK_H

#include "settings.h"

#define SELFCHECK_MS 2000

/** GET /v2/ on the mirror's port and /v1/healthz on the socket, each within SELFCHECK_MS. */
bool selfcheck(unsigned port, const struct settings *settings);

#endif
