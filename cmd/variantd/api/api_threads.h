/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which clients may have a thread: root's hooks never wait for other clients. */
#ifndef VARIANTD_API_THREADS_H
#define VARIANTD_API_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

#define API_TRUSTED_MAX 128u /**< at once, of peers that are trusted */
/** Of all other users; one user gets less than half of the places that the others leave. */
#define API_OTHERS_MAX 128u

/** False: too many are running. Counted until it is given back, over all servers of the process
 * (only tests have more than one). Any thread. */
bool api_thread_take(bool trusted, uid_t user);
void api_thread_give(bool trusted, uid_t user);
/** Is any of them left? */
bool api_threads_run(void);

#endif
