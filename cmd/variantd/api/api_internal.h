/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The peer of a connection on the unix socket. */
#ifndef OCV_API_INTERNAL_H
#define OCV_API_INTERNAL_H

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/types.h>

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
