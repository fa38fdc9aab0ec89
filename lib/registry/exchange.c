/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One request through its redirects, logins and retries, as a state machine, so that several run at
 * once on one thread. retry.c decides what an answer means.
 *
 * READY -> RUNNING -> classified -> DONE, or READY again (redirect, login, other scheme), or
 * WAITING (back-off) -> READY. Authorization is attached only when the URL of the hop has the
 * scheme, host and port of the request's own server. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 100 /* `interrupted` is looked at this often */

void ocv_exchange_finish(struct ocv_exchange *x, int status)
{
    x->status = status;
    x->state = OCV_EXCHANGE_DONE;
}

/* Errors of callbacks and of the core do not know what was asked for. */
void ocv_exchange_finish_named(struct ocv_exchange *x, int status)
{
    if (status < 0)
        ocv_error_prefix(&x->error, "%s", x->what);
    ocv_exchange_finish(x, status);
}

/* Where the request belongs: the token realm for a token request, else the registry. */
int ocv_exchange_origin(const struct ocv_exchange *x, char out[OCV_ORIGIN_MAX])
{
    char url[OCV_ORIGIN_MAX + 16];
    if (x->url)
        return ocv_url_origin(x->url, out, NULL);
    snprintf(url, sizeof(url), "%s://%s/", x->host->scheme == OCV_SCHEME_HTTPS ? "https" : "http",
             x->host->authority);
    return ocv_url_origin(url, out, NULL);
}

int ocv_exchange_hop_host(struct ocv_exchange *x, const char *origin, bool at_home,
                          struct ocv_registry_host **out)
{
    *out = x->host;
    if (at_home && !x->url)
        return OCV_OK;
    char authority[OCV_ORIGIN_MAX];
    ocv_origin_authority(origin, authority, sizeof(authority));
    return ocv_registry_host_at(x->registry, authority, out, &x->error);
}

static void perform_exchange(struct ocv_exchange *x)
{
    const struct ocv_registry_host *h = x->host;
    char *url = NULL, origin[OCV_ORIGIN_MAX], own[OCV_ORIGIN_MAX];
    struct ocv_registry_host *host = NULL;
    if (x->redirect || x->url)
        url = strdup(x->redirect ? x->redirect : x->url);
    else if (asprintf(&url, "%s://%s%s%s", h->scheme == OCV_SCHEME_HTTPS ? "https" : "http",
                      h->authority, h->prefix, x->path) < 0)
        url = NULL;
    if (!url) {
        ocv_exchange_finish(x, ocv_error_nomem(&x->error));
        return;
    }
    int status = ocv_url_origin(url, origin, &x->error);
    if (status == OCV_OK && ocv_exchange_origin(x, own) < 0)
        status = ocv_error_set(&x->error, OCV_ERR_INVALID, "invalid host \"%s\"", h->authority);
    bool at_home = status == OCV_OK && !strcmp(origin, own);
    if (status == OCV_OK)
        status = ocv_exchange_hop_host(x, origin, at_home, &host);
    if (status == OCV_OK && !strncmp(origin, "https:", 6))
        status = ocv_tls_load(x->registry, host, &x->error);
    if (status == OCV_OK) {
        x->started = ocv_clock_ms();
        x->begun = x->begun ? x->begun : x->started;
        const char *authorization = at_home ? x->authorization : NULL;
        if (at_home && !authorization) {
            const struct ocv_token *token = x->repository ? ocv_auth_find(h, x->repository) : NULL;
            x->token_serial = token ? token->serial : 0;
            if (token) {
                authorization = token->header;
                x->login = token->login;
                memcpy(x->registry->source, token->source, sizeof(token->source));
            }
        }
        status = ocv_transfer_start(x, url, host, authorization);
    }
    free(url);
    if (status < 0)
        ocv_exchange_finish_named(x, status);
    else
        x->state = OCV_EXCHANGE_RUNNING;
}

void ocv_exchange_step(struct ocv_exchange *x, int *wait_ms)
{
    for (;;) {
        if (x->state == OCV_EXCHANGE_WAITING) {
            int64_t left = x->not_before - ocv_clock_ms();
            if (left > 0) {
                if (left < *wait_ms)
                    *wait_ms = (int)left;
                return;
            }
            x->state = OCV_EXCHANGE_READY;
        }
        if (x->state == OCV_EXCHANGE_READY) {
            perform_exchange(x);
            *wait_ms = 0;
            return;
        }
        if (x->state != OCV_EXCHANGE_RUNNING || !x->transfer.done)
            return;
        x->transfer.done = false;
        ocv_exchange_classify(x);
        ocv_transfer_stop(&x->transfer, x->registry);
    }
}

static int multi_error(CURLMcode code, struct ocv_error *err)
{
    return code == CURLM_OK
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_NETWORK, "libcurl: %s", curl_multi_strerror(code));
}

/* Drive all transfers. `*ended`: one of them has come to its end. */
static int work(struct ocv_registry *registry, bool *ended, struct ocv_error *err)
{
    *ended = false;
    /* another thread or a signal handler sets it */
    if (registry->interrupted && __atomic_load_n(registry->interrupted, __ATOMIC_RELAXED))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    if (registry->deadline && !ocv_registry_left(registry, 1)) {
        ocv_error_set(err, OCV_ERR_NETWORK, "no answer within %u ms", registry->patience_ms);
        if (err)
            err->http_status = 504;
        return OCV_ERR_NETWORK;
    }
    OCV_TRY(multi_error(ocv_multi_perform(registry->multi), err));
    struct CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(registry->multi, &left))) {
        struct ocv_transfer *t = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        t->result = message->data.result;
        t->done = *ended = true;
    }
    return OCV_OK;
}

static int await(struct ocv_registry *registry, int wait_ms, struct ocv_error *err)
{
    wait_ms = ocv_registry_left(registry, wait_ms < POLL_MS ? wait_ms : POLL_MS);
    return wait_ms > 0 ? multi_error(curl_multi_poll(registry->multi, NULL, 0, wait_ms, NULL), err)
                       : OCV_OK;
}

int ocv_exchange_poll(struct ocv_registry *registry, int wait_ms, struct ocv_error *err)
{
    bool ended;
    OCV_TRY(work(registry, &ended, err));
    return ended ? OCV_OK : await(registry, wait_ms, err);
}

int ocv_exchange_run(struct ocv_exchange *x, struct ocv_error *err)
{
    struct ocv_registry *registry = x->registry;
    int status = OCV_OK;
    registry->silent = false;
    while (status == OCV_OK) {
        int wait_ms = POLL_MS;
        ocv_exchange_step(x, &wait_ms);
        if (x->state == OCV_EXCHANGE_DONE)
            break;
        ocv_wait_report(registry, x);
        bool ended;
        status = work(registry, &ended, err);
        if (status == OCV_OK && !ended && x->pause)
            status = x->pause(x->data, err);
        if (status == OCV_OK && !ended && !x->transfer.done)
            status = await(registry, wait_ms, err);
        if (status == OCV_ERR_NETWORK) /* the poll does not know which exchange failed */
            (void)ocv_error_prefix(err, "%s", x->what);
    }
    if (status == OCV_OK) {
        status = x->status;
        if (status < 0 && err)
            *err = x->error;
    }
    /* A token or a ping on the way may be what was waited for in vain; it says so itself. */
    bool waited = x->state == OCV_EXCHANGE_RUNNING || ocv_exchange_was_silent(x);
    if (status < 0)
        registry->silent = status == OCV_ERR_NETWORK &&
                           ((waited && !x->transfer.response.status) || registry->silent);
    return status;
}

bool ocv_registry_was_silent(const struct ocv_registry *registry)
{
    return registry->silent;
}

void ocv_exchange_free(struct ocv_exchange *x)
{
    ocv_transfer_free(&x->transfer, x->registry);
    free(x->redirect);
    x->redirect = NULL;
}
