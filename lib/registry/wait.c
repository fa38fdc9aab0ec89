/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How long each operation waits, and callbacks that tell the program about it, so that it can show
 * why nothing happens. */
#include "lib/base/clock.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <string.h>

#define TELL_MS 100
#define DOCUMENT_TOTAL_MS 55000 /* less than a minute in every case */
#define DOCUMENT_TRIES 3
#define DOCUMENT_MORE_MS 10000 /* for the pauses, and for a body on its way */

bool ocv_exchange_is_document(const struct ocv_exchange *x)
{
    return !x->sink && !x->upload;
}

int64_t ocv_exchange_left(const struct ocv_exchange *x)
{
    int64_t most = (int64_t)DOCUMENT_TRIES * x->registry->document_timeout_ms + DOCUMENT_MORE_MS;
    int64_t left =
        x->begun + (most > DOCUMENT_TOTAL_MS ? most : DOCUMENT_TOTAL_MS) - ocv_clock_ms();
    return left > 0 ? left : 0;
}

bool ocv_exchange_was_silent(const struct ocv_exchange *x)
{
    return x->transfer.result == CURLE_OPERATION_TIMEDOUT;
}

unsigned ocv_exchange_retries(const struct ocv_exchange *x)
{
    return ocv_exchange_is_document(x) && ocv_exchange_was_silent(x) ? x->registry->silent_retries
                                                                     : x->registry->retries;
}

/* The registry, or where a redirect or a challenge led to. */
static void name_host(const struct ocv_exchange *x, char *out, size_t size)
{
    char origin[OCV_ORIGIN_MAX];
    const char *url = x->redirect ? x->redirect : x->url;
    if (url && ocv_url_origin(url, origin, NULL) == OCV_OK)
        ocv_origin_authority(origin, out, size);
    else
        snprintf(out, size, "%s", x->host->authority);
}

void ocv_wait_report(struct ocv_registry *registry, const struct ocv_exchange *x)
{
    struct ocv_registry_wait wait = {0};
    char host[OCV_ORIGIN_MAX];
    int64_t now;
    if (!registry->wait || (now = ocv_clock_ms()) - registry->told < TELL_MS)
        return;
    registry->told = now;
    if (x && x->state == OCV_EXCHANGE_RUNNING) {
        /* before its first failure a request has no reason yet: it is reported as silence */
        unsigned retries =
            ocv_exchange_is_document(x) ? registry->silent_retries : registry->retries;
        if (x->attempts > retries)
            retries = registry->retries;
        name_host(x, host, sizeof(host));
        wait = (struct ocv_registry_wait){.what = x->what,
                                          .host = host,
                                          .attempt = x->attempts + 1,
                                          .attempts = retries + 1,
                                          .ms = now - x->started};
    }
    registry->wait(registry->wait_data, &wait);
}

void ocv_wait_report_retry(const struct ocv_exchange *x, int64_t wait_ms, bool asked)
{
    const struct ocv_transfer *t = &x->transfer;
    struct ocv_registry *registry = x->registry;
    char host[OCV_ORIGIN_MAX], trouble[96];
    curl_off_t connected = 0;
    if (!registry->wait)
        return;
    name_host(x, host, sizeof(host));
    if (ocv_exchange_was_silent(x)) {
        curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
        long long s = (long long)(ocv_clock_ms() - x->started + 500) / 1000;
        if (t->response.status)
            snprintf(
                trouble, sizeof(trouble), "has sent nothing more for %lld s",
                (long long)(x->sink ? registry->stall_timeout_ms : registry->document_timeout_ms) /
                    1000);
        else if (!connected)
            snprintf(trouble, sizeof(trouble), "has not accepted the connection for %lld s", s);
        else
            snprintf(trouble, sizeof(trouble), "is silent for %lld s", s);
    } else if (t->result == CURLE_OK && t->response.status) {
        snprintf(trouble, sizeof(trouble), "answers HTTP %ld", t->response.status);
    } else if (t->result == CURLE_COULDNT_RESOLVE_HOST || t->result == CURLE_COULDNT_CONNECT) {
        snprintf(trouble, sizeof(trouble), "can no longer be reached");
    } else {
        snprintf(trouble, sizeof(trouble), "broke the connection");
    }
    size_t n = strlen(trouble);
    if (asked && ocv_exchange_is_document(x))
        snprintf(trouble + n, sizeof(trouble) - n, " and asks to wait (at most %lld s more in all)",
                 (long long)ocv_exchange_left(x) / 1000);
    else if (asked)
        snprintf(trouble + n, sizeof(trouble) - n, " and asks to wait");
    const struct ocv_registry_wait wait = {.what = x->what,
                                           .host = host,
                                           .trouble = trouble,
                                           .attempt = x->attempts + 1,
                                           .attempts = ocv_exchange_retries(x) + 1,
                                           .ms = wait_ms};
    registry->told = ocv_clock_ms();
    registry->wait(registry->wait_data, &wait);
}
