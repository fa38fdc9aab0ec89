/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the end of a transfer means for its request: success, the next hop, a login, the other
 * scheme, another try after a pause, or failure. */
#include "lib/base/clock.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BACKOFF_FIRST_MS 250
#define BACKOFF_MAX_MS 15000
#define RETRY_AFTER_MAX_S 60         /* a server that asks for a longer wait is reported */
#define PROGRESS_BYTES (1024 * 1024) /* so much received makes a failure count as the first */

static int64_t backoff_time(unsigned attempt)
{
    int64_t most = BACKOFF_FIRST_MS;
    for (unsigned i = 1; i < attempt && most < BACKOFF_MAX_MS; i++)
        most *= 2;
    if (most > BACKOFF_MAX_MS)
        most = BACKOFF_MAX_MS;
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)ocv_clock_ms();
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
static bool wait_and_retry(struct ocv_exchange *x, int64_t asked_s)
{
    if (x->range_from - x->mark >= PROGRESS_BYTES)
        x->attempts = 0;
    x->mark = x->range_from;
    unsigned most = ocv_exchange_retries(x);
    if (x->once || x->attempts >= most || asked_s > RETRY_AFTER_MAX_S)
        return false;
    int64_t wait = asked_s > 0 ? asked_s * 1000 + backoff_time(1) : backoff_time(x->attempts + 1);
    if (ocv_registry_left(x->registry, (int)wait) < wait ||
        (ocv_exchange_is_document(x) && ocv_exchange_left(x) <= wait))
        return false;
    x->attempts++;
    ocv_registry_log(x->registry, "%s: retry %u of %u in %lld ms", x->what, x->attempts, most,
                     (long long)wait);
    ocv_wait_report_retry(x, wait, asked_s > 0);
    drop_redirect(x);
    x->not_before = ocv_clock_ms() + wait;
    x->state = OCV_EXCHANGE_WAITING;
    return true;
}

/* An undecided host that does not understand us is asked once more with the other scheme. */
static bool swap_scheme(struct ocv_exchange *x)
{
    struct ocv_registry_host *h = x->host;
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

/* Could this failure mean that the server uses the other scheme? */
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

static bool worth_retry(const struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    switch (x->transfer.result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT: /* a mistyped name must not take eight seconds to be reported */
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

static void follow_redirect(struct ocv_exchange *x)
{
    CURL *easy = x->transfer.easy;
    char *target = NULL, *from = NULL, origin[OCV_ORIGIN_MAX], shown[512];
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &from);
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target); /* Location made absolute */
    int status = OCV_OK;
    bool guard = false;
    if (!target || !from)
        status = ocv_error_set(&x->error, OCV_ERR_DATA, "redirect without a valid Location");
    else if (x->form || x->upload)
        status = ocv_error_set(&x->error, OCV_ERR_NETWORK, "a redirect is not followed with %s",
                               x->form ? "credentials in the body" : "what is to be written");
    else if (++x->redirects > OCV_REDIRECTS_MAX)
        status =
            ocv_error_set(&x->error, OCV_ERR_NETWORK, "more than %d redirects", OCV_REDIRECTS_MAX);
    if (status == OCV_OK)
        status = ocv_url_origin(from, origin, &x->error);
    if (status == OCV_OK)
        status = ocv_hop_allowed(x->registry, origin, target, "redirect", &guard, &x->error);
    if (status < 0 || !target) {
        ocv_exchange_finish_named(x, status);
        return;
    }
    ocv_url_public(target, shown, sizeof(shown));
    ocv_registry_log(x->registry, "%s: redirected to %s", x->what, shown);
    char *copy = strdup(target);
    if (!copy) {
        ocv_exchange_finish(x, ocv_error_nomem(&x->error));
        return;
    }
    free(x->redirect);
    x->redirect = copy;
    x->redirect_guard = x->redirect_guard || guard; /* a guarded host's next hop is guarded, too */
    x->state = OCV_EXCHANGE_READY;
}

/* A refusal of the registry itself: get a token, or renew one that has expired. */
static void log_in(struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    char origin[OCV_ORIGIN_MAX];
    const struct ocv_token *token = ocv_auth_find(x->host, x->repository);
    if (token && token->serial != x->token_serial) { /* another request was quicker */
        x->state = OCV_EXCHANGE_READY;
        return;
    }
    unsigned most = ocv_auth_renew(x) ? 2 : 1;
    if (x->logins >= most) { /* a fresh token or password is refused */
        ocv_exchange_finish(x, ocv_failure_http(x, host));
        return;
    }
    x->logins++;
    int status = ocv_exchange_origin(x, origin);
    if (status == OCV_OK)
        status = ocv_auth_answer(x, origin, &x->error);
    /* what it said before counts where the token server fails, or refuses nobody's request */
    bool absent = x->transfer.response.status != 401 && status < 0 && status != OCV_ERR_NOT_FOUND &&
                  status != OCV_ERR_INTERRUPTED && status != OCV_ERR_NOMEM;
    bool denied = status == OCV_ERR_DENIED;
    if (status == OCV_ERR_NOT_FOUND || absent) /* no way to log in: the answer stands */
        ocv_exchange_finish(x, ocv_failure_http(x, host));
    else if (status < 0)
        ocv_exchange_finish_named(x, status);
    else
        x->state = OCV_EXCHANGE_READY;
    if (absent && denied && x->transfer.response.status == 404)
        ocv_creds_hint(x->registry, x->host->name, x->login, &x->error);
}

static void classify_status(struct ocv_exchange *x, struct ocv_registry_host *host)
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
    if (r->status >= 300 && r->status < 400 && r->status != 304 && r->location) {
        follow_redirect(x);
        return;
    }
    /* some hide from nobody what they have, and never say 401 */
    bool hidden = (r->status == 403 || r->status == 404) && x->repository && *x->repository &&
                  !x->token_serial && !x->logins;
    if (at_home && ((r->status == 401 && x->repository) || hidden)) {
        log_in(x, host);
        return;
    }
    /* how Amazon's registry refuses a password that has expired */
    if (r->status == 403 && at_home && x->repository && ocv_auth_renew(x)) {
        x->state = OCV_EXCHANGE_READY;
        return;
    }
    bool again = r->status == 408 || r->status == 429 || r->status == 500 || r->status == 502 ||
                 r->status == 503 || r->status == 504;
    /* a signed URL may have expired on the way: the registry gives a new one */
    if (!at_home && (r->status == 401 || r->status == 403) && !x->restarts++)
        again = true;
    if (again && (!x->has_get || asked > 0) && wait_and_retry(x, asked))
        return;
    ocv_exchange_finish(x, ocv_failure_http(x, host));
    if (!again)
        return;
    /* when to come back, and who may ask more */
    char later[64] = "", login[OCV_ORIGIN_MAX + 80] = "";
    const char *name = x->host->name;
    bool hub = !strcmp(name, "docker.io");
    if (asked > 0)
        snprintf(later, sizeof(later), "try again in %lld seconds", (long long)asked);
    if (r->status == 429 && x->login != OCV_LOGIN_USED && x->registry->service)
        snprintf(login, sizeof(login), "credentials for %s may raise the limit", name);
    else if (r->status == 429 && x->login != OCV_LOGIN_USED)
        snprintf(login, sizeof(login),
                 "docker login%s%s raises the limit, where it is one of anonymous pulls",
                 hub ? "" : " ", hub ? "" : name);
    if (*later || *login)
        ocv_error_hint(&x->error, "%s%s%s", later, *later && *login ? "; " : "", login);
}

void ocv_exchange_classify(struct ocv_exchange *x)
{
    struct ocv_transfer *t = &x->transfer;
    struct ocv_registry_host *hop = NULL;
    char *url = NULL, origin[OCV_ORIGIN_MAX] = "", shown[512];
    curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
    if (x->registry->log) {
        ocv_url_public(url ? url : "", shown, sizeof(shown));
        if (t->response.status)
            ocv_registry_log(x->registry, "%s %s: HTTP %ld (%lld ms)", x->method, shown,
                             t->response.status, (long long)(ocv_clock_ms() - x->started));
        else
            ocv_registry_log(x->registry, "%s %s: %s", x->method, shown,
                             t->error[0] ? t->error : curl_easy_strerror(t->result));
    }
    ocv_transfer_drop_surplus(t, x->registry);
    if ((x->redirect || x->url) && url && ocv_url_origin(url, origin, NULL) == OCV_OK)
        (void)ocv_exchange_hop_host(x, origin, false, &hop);
    struct ocv_registry_host *host = hop ? hop : x->host;
    long code = t->response.status;
    bool success = code >= 200 && code <= 299;
    /* a refusal is final, also if the rest of its text did not arrive */
    bool refused = code >= 400 && code <= 499 && code != 408 && code != 429;
    if (success)
        x->logins = 0; /* hours later the token of a retry may have expired */
    if (t->abort_status < 0) {
        ocv_exchange_finish_named(x, t->abort_status);
    } else if (t->abort_status == OCV_EXCHANGE_AGAIN && success) {
        drop_redirect(x);
        if (x->restarts++ < 2)
            x->state = OCV_EXCHANGE_READY;
        else
            ocv_exchange_finish_named(x, ocv_error_set(&x->error, OCV_ERR_NETWORK,
                                                       "%s does not answer ranges properly",
                                                       host->authority));
    } else if (t->result != CURLE_OK && t->abort_status == 0 && !refused) {
        /* surplus bytes of an earlier answer may have come before this one */
        long connects = 1;
        curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
        if (!x->fresh && !connects && !code && !x->form && !x->upload &&
            (t->result == CURLE_UNSUPPORTED_PROTOCOL || t->result == CURLE_WEIRD_SERVER_REPLY)) {
            x->fresh = true;
            x->state = OCV_EXCHANGE_READY;
            return;
        }
        if (!code && !host->decided && scheme_trouble(x) && swap_scheme(x))
            return;
        if (code)
            host->answered = true;
        if (!worth_retry(x, host) || !wait_and_retry(x, 0))
            ocv_exchange_finish(x, ocv_failure_curl(x, host));
    } else if (success) {
        host->answered = true;
        if (!x->redirect && !x->url)
            host->decided = true;
        int status = OCV_OK;
        if (!t->began && x->begin) { /* an empty body */
            t->began = true;
            status = x->begin(x->data, x);
        }
        if (status == OCV_EXCHANGE_AGAIN)
            x->state = OCV_EXCHANGE_READY;
        else
            ocv_exchange_finish_named(x, status);
    } else {
        classify_status(x, host);
    }
}
