/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which clients may have a thread: root's hooks never wait for other clients. */
#ifndef VARIANTD_API_THREADS_H
#define VARIANTD_API_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

#define API_TRUSTED_MAX 128u /**< at once, of peers that are trusted */
/** Of all others, of whom one user has less than half of what the rest leave. */
#define API_OTHERS_MAX 128u

/** False: there are too many. Counted until it is given back; of all servers of the process, which
 *  is one, but for tests. Any thread. */
bool api_thread_take(bool trusted, uid_t user);
void api_thread_give(bool trusted, uid_t user);
/** Is any of them left? */
bool api_threads_run(void);

#endif
