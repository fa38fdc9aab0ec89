/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API on the unix socket: profile, resolve, health, metrics. */
#ifndef VARIANTD_API_H
#define VARIANTD_API_H

#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/instance/instance.h"

/** Bytes of the answer of /v1/healthz, which names every registry. */
#define API_HEALTH_MAX (256u * 1024)
#define API_CONNECTIONS_MAX 1024u /**< at most 1/16 of the files that may be open */

/** Serve on the listening socket, which is taken over. `full`: the unix socket; else only /metrics
 *  and /v1/healthz. `peers` watches the connections. */
int api_start(struct current *current, int fd, bool full, struct connections *peers,
              struct httpd **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** NULL is allowed. */
void api_stop(struct httpd *httpd);

#endif
