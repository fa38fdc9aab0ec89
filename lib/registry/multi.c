/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Driving libcurl without touching the program's signal handling. */
#include "lib/registry/registry_internal.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* OpenSSL writes with write(2): a closed connection raises SIGPIPE in this thread. It is held back
 * while libcurl runs and taken away if it was not pending before; no handler is touched. */
CURLMcode ocv_multi_perform(CURLM *multi)
{
    sigset_t pipe_set, old, pending;
    const struct timespec none = {0};
    int running = 0;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    CURLMcode code = curl_multi_perform(multi, &running);
    if (!was_pending)
        while (sigtimedwait(&pipe_set, NULL, &none) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}
