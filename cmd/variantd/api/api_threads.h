/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits threads per client: root's hooks never wait for other clients. */
#ifndef VARIANTD_API_THREADS_H
#define VARIANTD_API_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

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
