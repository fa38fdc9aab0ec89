/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Driving libcurl without touching the program's signal handling. */
#include "lib/registry/registry_internal.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define FLOOD_MS 500 /* processor time that one call of libcurl takes at most */
#define RECORDS 16   /* between two looks at the clock */

/* With HTTP/2 libcurl reads frames until one belongs to the request or none is left. If a server
 * sends other frames faster than libcurl reads them, the call never returns and checks no timeout.
 * OpenSSL calls us for each record, and after FLOOD_MS the connection is treated as closed by the
 * server. */

static _Thread_local int64_t work_began; /* of the call that runs, in ms */
static _Thread_local unsigned records;

static int64_t thread_work_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_record(int written, int version, int type, const void *bytes, size_t len, SSL *ssl,
                      void *data)
{
    (void)version, (void)bytes, (void)len, (void)data;
    if (written || type != SSL3_RT_HEADER || ++records % RECORDS != 0)
        return;
    if (thread_work_ms() - work_began > FLOOD_MS)
        SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

bool ocv_curl_has_openssl(void)
{
    const char *backend = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return backend && !strncmp(backend, "OpenSSL/", 8);
}

CURLcode ocv_tls_context(CURL *easy, void *context, void *store)
{
    (void)easy;
    if (store)
        SSL_CTX_set1_cert_store(context, store);
    SSL_CTX_set_msg_callback(context, on_record);
    return CURLE_OK;
}

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
    work_began = thread_work_ms();
    records = 0;
    CURLMcode code = curl_multi_perform(multi, &running);
    if (!was_pending)
        while (sigtimedwait(&pipe_set, NULL, &none) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}
