/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API on the unix socket: profile, resolve, health, metrics. */
#ifndef VARIANTD_API_H
#define VARIANTD_API_H

#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/instance/instance.h"

#include <microhttpd.h>

/** Bytes of the answer of /v1/healthz, which names every registry. */
#define API_HEALTH_MAX (256u * 1024)
#define API_CONNECTIONS_MAX 1024u /**< at most 1/16 of the files that may be open */

/** Serve on the listening socket, which is taken over. `full`: the unix socket; else only /metrics
 *  and /v1/healthz. `peers` watches the connections. */
int api_start(struct current *current, int fd, bool full, struct connections *peers,
              struct httpd **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** NULL is allowed. */
void api_stop(struct httpd *httpd);

/** True if the peer on the unix socket may know what the daemon's credentials can read: root, the
 *  daemon's own user and the group `ocivariant`. `*user`: the peer's user, -1 if unknown. */
bool api_trusted(struct MHD_Connection *connection, uid_t *user);

/* Limits threads per client: root's hooks never wait for other clients. */

#define API_TRUSTED_MAX 128u /**< for trusted peers at the same time */
/** For all other users together; one user gets less than half of what the others leave. */
#define API_OTHERS_MAX 128u

/** False: too many threads are running. Counted until it is released, over all servers of the
 *  process (only tests have several). Any thread. */
bool api_thread_take(bool trusted, uid_t user);
void api_thread_give(bool trusted, uid_t user);
/** True if any thread is still running. */
bool api_threads_run(void);

#endif
