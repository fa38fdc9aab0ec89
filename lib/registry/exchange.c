/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One request through its redirects, logins and retries, as a state machine, so that several run at
 * once on one thread.
 *
 * READY -> RUNNING -> judged -> DONE, or READY again (redirect, login, other scheme), or WAITING
 * (back-off) -> READY. Authorization is attached only when the URL of the hop has the scheme, host
 * and port of the request's own server. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BACKOFF_FIRST_MS 250
#define BACKOFF_MAX_MS 15000
#define RETRY_AFTER_MAX_S 60         /* a server that wants more is reported, not waited for */
#define PROGRESS_BYTES (1024 * 1024) /* so much received makes a failure count as the first */
#define POLL_MS 100                  /* `interrupted` is looked at this often */

static void finish(struct ocv_exchange *x, int status)
{
    x->status = status;
    x->state = OCV_EXCHANGE_DONE;
}

/* Errors of callbacks and of the core do not know what was asked for. */
static void finish_named(struct ocv_exchange *x, int status)
{
    if (status < 0)
        ocv_error_prefix(&x->error, "%s", x->what);
    finish(x, status);
}

/* ---- going out ----------------------------------------------------------------------------------
 */

static int hop_url(const struct ocv_exchange *x, char **url)
{
    const struct ocv_host *h = x->host;
    if (x->redirect || x->url)
        *url = strdup(x->redirect ? x->redirect : x->url);
    else if (asprintf(url, "%s://%s%s%s", h->scheme == OCV_SCHEME_HTTPS ? "https" : "http",
                      h->authority, h->prefix, x->path) < 0)
        *url = NULL;
    return *url ? OCV_OK : OCV_ERR_NOMEM;
}

/* Where the request belongs: the token realm for a token request, else the registry. */
static int own_origin(const struct ocv_exchange *x, char out[OCV_ORIGIN_MAX])
{
    char url[OCV_ORIGIN_MAX + 16];
    if (x->url)
        return ocv_url_origin(x->url, out, NULL);
    snprintf(url, sizeof(url), "%s://%s/", x->host->scheme == OCV_SCHEME_HTTPS ? "https" : "http",
             x->host->authority);
    return ocv_url_origin(url, out, NULL);
}

static const char *authorization(struct ocv_exchange *x)
{
    if (x->authorization)
        return x->authorization;
    const struct ocv_token *token = x->repository ? ocv_auth_find(x->host, x->repository) : NULL;
    x->token_serial = token ? token->serial : 0;
    return token ? token->header : NULL;
}

static int hop_host(struct ocv_exchange *x, const char *origin, bool at_home, struct ocv_host **out)
{
    *out = x->host;
    if (at_home && !x->url)
        return OCV_OK;
    char authority[OCV_ORIGIN_MAX];
    ocv_origin_authority(origin, authority, sizeof(authority));
    return ocv_host_at(x->registry, authority, out, &x->error);
}

static void go(struct ocv_exchange *x)
{
    char *url = NULL, origin[OCV_ORIGIN_MAX], own[OCV_ORIGIN_MAX];
    struct ocv_host *host = NULL;
    int status = hop_url(x, &url);
    if (status < 0) {
        finish(x, ocv_error_nomem(&x->error));
        return;
    }
    status = ocv_url_origin(url, origin, &x->error);
    if (status == OCV_OK && own_origin(x, own) < 0)
        status = ocv_error_set(&x->error, OCV_ERR_INVALID, "%s is no host", x->host->authority);
    bool at_home = status == OCV_OK && !strcmp(origin, own);
    if (status == OCV_OK)
        status = hop_host(x, origin, at_home, &host);
    if (status == OCV_OK) {
        x->started = ocv_registry_now();
        status = ocv_transfer_start(x, url, host, at_home ? authorization(x) : NULL);
    }
    free(url);
    if (status < 0)
        finish_named(x, status);
    else
        x->state = OCV_EXCHANGE_RUNNING;
}

/* ---- coming back --------------------------------------------------------------------------------
 */

static int64_t backoff(unsigned attempt)
{
    int64_t most = BACKOFF_FIRST_MS;
    for (unsigned i = 1; i < attempt && most < BACKOFF_MAX_MS; i++)
        most *= 2;
    if (most > BACKOFF_MAX_MS)
        most = BACKOFF_MAX_MS;
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)ocv_registry_now();
    return most / 2 + (int64_t)(random % (uint32_t)(most / 2 + 1));
}

static void drop_redirect(struct ocv_exchange *x)
{
    free(x->redirect);
    x->redirect = NULL;
    x->redirect_guard = false;
    x->redirects = 0;
}

/* Wait and ask again from the start; false when the attempts are used up. */
static bool retry(struct ocv_exchange *x, int64_t asked_s)
{
    if (x->range_from - x->mark >= PROGRESS_BYTES)
        x->attempts = 0;
    x->mark = x->range_from;
    if (x->attempts >= x->registry->retries || asked_s > RETRY_AFTER_MAX_S)
        return false;
    x->attempts++;
    int64_t wait = asked_s > 0 ? asked_s * 1000 + backoff(1) : backoff(x->attempts);
    ocv_registry_log(x->registry, "%s: retry %u of %u in %lld ms", x->what, x->attempts,
                     x->registry->retries, (long long)wait);
    drop_redirect(x);
    x->not_before = ocv_registry_now() + wait;
    x->state = OCV_EXCHANGE_WAITING;
    return true;
}

/* An undecided host that does not understand us is asked once more with the other scheme. */
static bool swap_scheme(struct ocv_exchange *x)
{
    struct ocv_host *h = x->host;
    if (h->decided || x->redirect || x->url)
        return false;
    if (x->swapped)
        h->decided = true; /* neither works: report how the first one failed */
    x->swapped = true;
    h->scheme = h->scheme == OCV_SCHEME_HTTP ? OCV_SCHEME_HTTPS : OCV_SCHEME_HTTP;
    ocv_registry_log(x->registry, "%s: trying %s", h->authority,
                     h->scheme == OCV_SCHEME_HTTPS ? "https" : "http");
    x->state = OCV_EXCHANGE_READY;
    return true;
}

/* Could this failure mean that the other side speaks the other scheme? */
static bool scheme_trouble(const struct ocv_exchange *x)
{
    bool tls = x->host->scheme == OCV_SCHEME_HTTPS;
    if (tls && x->swapped_on_400) /* TLS is expected: only a plain answer denies it */
        return strstr(x->transfer.error, "wrong version number");
    switch (x->transfer.result) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_UNSUPPORTED_PROTOCOL: /* TLS bytes look like HTTP/0.9 */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return true;
    case CURLE_COULDNT_CONNECT: /* nothing listens on 443, plain HTTP may on 80 */
        return x->host->insecure && tls && !strchr(x->host->authority, ':');
    case CURLE_OPERATION_TIMEDOUT: /* a plain server may wait for the end of our line */
        return !x->swapped == tls;
    default:
        return x->swapped && !tls;
    }
}

static bool worth_retry(const struct ocv_exchange *x, const struct ocv_host *host)
{
    switch (x->transfer.result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT: /* a mistyped name shall not take eight seconds to be told */
    case CURLE_SSL_CONNECT_ERROR:
        return host->answered && !x->transfer.refused;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: /* TLS 1.3 servers refuse a client's certificate this late */
        return !strstr(x->transfer.error, "alert");
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

static void follow(struct ocv_exchange *x)
{
    CURL *easy = x->transfer.easy;
    char *target = NULL, *from = NULL, origin[OCV_ORIGIN_MAX], shown[512];
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &from);
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target); /* Location made absolute */
    int status = OCV_OK;
    bool guard = false;
    if (!target || !from)
        status = ocv_error_set(&x->error, OCV_ERR_DATA, "redirect without a usable Location");
    else if (x->form)
        status = ocv_error_set(&x->error, OCV_ERR_NETWORK,
                               "a redirect is not followed with credentials in the body");
    else if (++x->redirects > OCV_REDIRECTS_MAX)
        status =
            ocv_error_set(&x->error, OCV_ERR_NETWORK, "more than %d redirects", OCV_REDIRECTS_MAX);
    if (status == OCV_OK)
        status = ocv_url_origin(from, origin, &x->error);
    if (status == OCV_OK)
        status =
            ocv_hop_allowed(x->registry, x->host, origin, target, "redirect", &guard, &x->error);
    if (status < 0) {
        finish_named(x, status);
        return;
    }
    ocv_url_public(target, shown, sizeof(shown));
    ocv_registry_log(x->registry, "%s: redirected to %s", x->what, shown);
    char *copy = strdup(target);
    if (!copy) {
        finish(x, ocv_error_nomem(&x->error));
        return;
    }
    free(x->redirect);
    x->redirect = copy;
    x->redirect_guard = x->redirect_guard || guard; /* a guarded host's next hop is guarded, too */
    x->state = OCV_EXCHANGE_READY;
}

/* 401 from the registry itself: get a token, or renew one that has expired. */
static void log_in(struct ocv_exchange *x, const struct ocv_host *host)
{
    char origin[OCV_ORIGIN_MAX];
    const struct ocv_token *token = ocv_auth_find(x->host, x->repository);
    if (token && token->serial != x->token_serial) { /* another request was quicker */
        x->state = OCV_EXCHANGE_READY;
        return;
    }
    if (x->logins++) { /* a fresh token or password is refused */
        finish(x, ocv_failure_http(x, host));
        return;
    }
    int status = own_origin(x, origin);
    bool used = false;
    if (status == OCV_OK)
        status = ocv_auth_answer(x, origin, &used, &x->error);
    x->credentials_used = used;
    if (status == OCV_ERR_NOT_FOUND) /* no way to log in: the 401 stands */
        finish(x, ocv_failure_http(x, host));
    else if (status < 0)
        finish_named(x, status);
    else
        x->state = OCV_EXCHANGE_READY;
}

static void judge_status(struct ocv_exchange *x, struct ocv_host *host)
{
    const struct ocv_response *r = &x->transfer.response;
    curl_off_t asked = 0;
    curl_easy_getinfo(x->transfer.easy, CURLINFO_RETRY_AFTER, &asked);
    bool at_home = !x->redirect;
    host->answered = true;
    if (r->status == 400 && at_home && swap_scheme(x)) {
        x->swapped_on_400 = true;
        return;
    }
    if (at_home && !x->url)
        host->decided = true;
    if (r->status >= 300 && r->status < 400 && r->location) {
        follow(x);
        return;
    }
    if (r->status == 401 && at_home && x->repository) {
        log_in(x, host);
        return;
    }
    bool again = r->status == 408 || r->status == 429 || r->status == 500 || r->status == 502 ||
                 r->status == 503 || r->status == 504;
    /* a signed URL may have expired on the way: the registry gives a new one */
    if (!at_home && (r->status == 401 || r->status == 403) && !x->restarts++)
        again = true;
    if (again && retry(x, asked))
        return;
    finish(x, ocv_failure_http(x, host));
    if (asked > RETRY_AFTER_MAX_S)
        ocv_error_hint(&x->error, "try again in %lld seconds", (long long)asked);
}

static void log_answer(const struct ocv_exchange *x)
{
    const struct ocv_transfer *t = &x->transfer;
    char *url = NULL, shown[512];
    if (!x->registry->log)
        return;
    curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
    ocv_url_public(url ? url : "", shown, sizeof(shown));
    if (t->response.status)
        ocv_registry_log(x->registry, "%s %s: HTTP %ld (%lld ms)", x->method, shown,
                         t->response.status, (long long)(ocv_registry_now() - x->started));
    else
        ocv_registry_log(x->registry, "%s %s: %s", x->method, shown,
                         t->error[0] ? t->error : curl_easy_strerror(t->result));
}

static void judge_success(struct ocv_exchange *x)
{
    struct ocv_transfer *t = &x->transfer;
    int status = OCV_OK;
    if (!t->began && x->begin) { /* an empty body */
        t->began = true;
        status = x->begin(x->data, x);
    }
    if (status == OCV_EXCHANGE_AGAIN)
        x->state = OCV_EXCHANGE_READY;
    else
        finish_named(x, status);
}

static void judge(struct ocv_exchange *x)
{
    struct ocv_transfer *t = &x->transfer;
    struct ocv_host *host = x->host;
    char *url = NULL, origin[OCV_ORIGIN_MAX] = "";
    log_answer(x);
    curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
    if ((x->redirect || x->url) && url && ocv_url_origin(url, origin, NULL) == OCV_OK)
        (void)hop_host(x, origin, false, &host);
    if (!host)
        host = x->host;
    bool success = t->response.status >= 200 && t->response.status <= 299;
    if (success)
        x->logins = 0; /* hours later the token of a retry may have expired */
    if (t->abort_status < 0) {
        finish_named(x, t->abort_status);
    } else if (t->abort_status == OCV_EXCHANGE_AGAIN && success) {
        drop_redirect(x);
        if (x->restarts++ < 2)
            x->state = OCV_EXCHANGE_READY;
        else
            finish_named(x, ocv_error_set(&x->error, OCV_ERR_NETWORK,
                                          "%s does not answer ranges properly", host->authority));
    } else if (t->result != CURLE_OK && t->abort_status == 0) {
        if (!t->response.status && !host->decided && scheme_trouble(x) && swap_scheme(x))
            return;
        if (t->response.status)
            host->answered = true;
        if (!worth_retry(x, host) || !retry(x, 0))
            finish(x, ocv_failure_curl(x, host));
    } else if (success) {
        host->answered = true;
        if (!x->redirect && !x->url)
            host->decided = true;
        judge_success(x);
    } else {
        judge_status(x, host);
    }
}

void ocv_exchange_step(struct ocv_exchange *x, int *wait_ms)
{
    for (;;) {
        if (x->state == OCV_EXCHANGE_WAITING) {
            int64_t left = x->not_before - ocv_registry_now();
            if (left > 0) {
                if (left < *wait_ms)
                    *wait_ms = (int)left;
                return;
            }
            x->state = OCV_EXCHANGE_READY;
        }
        if (x->state == OCV_EXCHANGE_READY) {
            go(x);
            *wait_ms = 0;
            return;
        }
        if (x->state != OCV_EXCHANGE_RUNNING || !x->transfer.done)
            return;
        x->transfer.done = false;
        judge(x);
        ocv_transfer_stop(&x->transfer, x->registry);
    }
}

/* Mark the transfers that have ended. */
static bool collect(struct ocv_registry *registry)
{
    struct CURLMsg *message;
    bool any = false;
    int left;
    while ((message = curl_multi_info_read(registry->multi, &left))) {
        struct ocv_transfer *t = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        t->result = message->data.result;
        t->done = any = true;
    }
    return any;
}

int ocv_exchange_poll(struct ocv_registry *registry, int wait_ms, struct ocv_error *err)
{
    if (ocv_registry_interrupted(registry))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    CURLMcode code = ocv_multi_perform(registry->multi);
    if (code == CURLM_OK && !collect(registry) && wait_ms > 0)
        code =
            curl_multi_poll(registry->multi, NULL, 0, wait_ms < POLL_MS ? wait_ms : POLL_MS, NULL);
    if (code != CURLM_OK)
        return ocv_error_set(err, OCV_ERR_NETWORK, "libcurl: %s", curl_multi_strerror(code));
    return OCV_OK;
}

int ocv_exchange_run(struct ocv_exchange *x, struct ocv_error *err)
{
    while (x->state != OCV_EXCHANGE_DONE) {
        int wait_ms = POLL_MS;
        ocv_exchange_step(x, &wait_ms);
        if (x->state == OCV_EXCHANGE_DONE)
            break;
        int status = ocv_exchange_poll(x->registry, x->transfer.done ? 0 : wait_ms, err);
        if (status < 0)
            return status;
    }
    if (x->status < 0 && err)
        *err = x->error;
    return x->status;
}

void ocv_exchange_free(struct ocv_exchange *x)
{
    ocv_transfer_free(&x->transfer, x->registry);
    free(x->redirect);
    x->redirect = NULL;
}
