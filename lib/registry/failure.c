/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From a failed transfer to one clear line: the request, the server that refused it, its message.
 */
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"
#include "lib/registry/registry_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SERVER_WORDS_MAX 300 /* characters of a server's own message that are shown */

static void add_words(char *out, size_t size, const char *code, const char *message)
{
    size_t used = strlen(out);
    if (used + 4 >= size || (!*code && !*message))
        return;
    snprintf(out + used, size - used, "%s%s%s%s", used ? "; " : "", code,
             *code && *message ? ": " : "", message);
}

#define ERRORS_SHOWN 3u

/* Distribution: {"errors":[{"code","message"}]}; token servers: details, message, error. */
static const char *const plain_keys[] = {"details", "message", "error_description", "error"};

struct server_words {
    unsigned n; /* of `errors` */
    struct {
        char code[SERVER_WORDS_MAX], message[SERVER_WORDS_MAX];
    } errors[ERRORS_SHOWN];
    char plain[sizeof(plain_keys) / sizeof(*plain_keys)][SERVER_WORDS_MAX];
};

static int take_words(void *data, const struct ocv_json_at *at)
{
    struct server_words *words = data;
    if (ocv_json_is_at(at, "errors", "[]", NULL))
        words->n++;
    if (at->kind != '"')
        return 0;
    char *into = NULL;
    if (words->n && words->n <= ERRORS_SHOWN && ocv_json_is_at(at, "errors", "[]", "code"))
        into = words->errors[words->n - 1].code;
    else if (words->n && words->n <= ERRORS_SHOWN && ocv_json_is_at(at, "errors", "[]", "message"))
        into = words->errors[words->n - 1].message;
    for (size_t i = 0; i < sizeof(plain_keys) / sizeof(*plain_keys); i++)
        if (ocv_json_is_at(at, plain_keys[i], NULL, NULL))
            into = words->plain[i];
    if (into)
        snprintf(into, SERVER_WORDS_MAX, "%s", at->text);
    return 0;
}

void ocv_failure_text(const struct ocv_buffer *body, char *out, size_t size)
{
    struct server_words words = {0};
    out[0] = '\0';
    if (!body->len)
        return;
    if (ocv_json_walk(body->data, body->len, take_words, &words, NULL) < 0) {
        if (body->data[0] != '<') /* a plain line is worth showing, a web page is not */
            snprintf(out, size, "%.*s", (int)strcspn(body->data, "\r\n"), body->data);
        return;
    }
    for (unsigned i = 0; i < words.n && i < ERRORS_SHOWN; i++)
        add_words(out, size, words.errors[i].code, words.errors[i].message);
    for (size_t i = 0; !*out && i < sizeof(plain_keys) / sizeof(*plain_keys); i++)
        add_words(out, size, "", words.plain[i]);
}

static int tls_failure(struct ocv_exchange *x, const struct ocv_registry_host *host,
                       const char *why)
{
    const struct ocv_registry *r = x->registry;
    const char *name = host->name;
    if (strstr(why, "wrong version number")) { /* its first bytes are not a TLS record */
        ocv_error_set(&x->error, OCV_ERR_TLS, "%s: %s answers in plain HTTP", x->what,
                      host->authority);
        if (r->service)
            ocv_error_hint(&x->error, "`insecure: true` of registries: %s in the configuration",
                           name);
        else
            ocv_error_hint(&x->error, "--insecure %s", name);
        return OCV_ERR_TLS;
    }
    ocv_error_set(&x->error, OCV_ERR_TLS, "%s: TLS with %s failed: %s", x->what, host->authority,
                  why);
    /* where the authorities that were tried come from, and where another one can be named */
    const struct ocv_registry_config config =
        ocv_registry_find(r->registries, r->n_registries, name);
    if (config.ca)
        ocv_error_hint(&x->error,
                       "trusted: the system's authorities and %s, which the configuration names "
                       "as `ca` of registries: %s",
                       config.ca, name);
    else if (r->ca_file)
        ocv_error_hint(&x->error, "trusted: the system's authorities and %s", r->ca_file);
    else if (r->service)
        ocv_error_hint(&x->error,
                       "name its authority in the configuration as `ca` of registries: %s", name);
    else
        ocv_error_hint(&x->error,
                       "give the authority with --cacert FILE or /etc/docker/certs.d/%s/ca.crt, or "
                       "name the host with --insecure",
                       name);
    return OCV_ERR_TLS;
}

/* Which wait timed out, and how often. */
static int timed_out(struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    const struct ocv_registry *registry = x->registry;
    unsigned ms =
        ocv_exchange_is_document(x) ? registry->document_timeout_ms : registry->stall_timeout_ms;
    curl_off_t connected = 0;
    char tries[32] = "";
    curl_easy_getinfo(x->transfer.easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (!connected && registry->connect_timeout_ms < ms)
        ms = registry->connect_timeout_ms;
    if (x->attempts > 0)
        snprintf(tries, sizeof(tries), ", tried %u times", x->attempts + 1);
    return ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: %s is too slow or silent: %s in %u s%s",
                         x->what, host->authority,
                         !connected                    ? "no connection"
                         : x->transfer.response.status ? "nothing more"
                                                       : "no answer",
                         (ms + 999) / 1000, tries);
}

static int describe_failure(struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    const struct ocv_transfer *t = &x->transfer;
    const char *why = t->error[0] ? t->error : curl_easy_strerror(t->result);
    long code = 0;
    if (strstr(why, "alert") && strstr(why, "certificate")) {
        ocv_error_set(&x->error, OCV_ERR_DENIED, "%s: %s requires another client certificate: %s",
                      x->what, host->authority, why);
        ocv_error_hint(&x->error,
                       "--cert and --key, or NAME.cert and NAME.key in "
                       "/etc/docker/certs.d/%s",
                       host->name);
        return OCV_ERR_DENIED;
    }
    switch (t->result) {
    case CURLE_OUT_OF_MEMORY:
        return ocv_error_nomem(&x->error);
    case CURLE_COULDNT_RESOLVE_HOST:
        return ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: no such host: %s", x->what,
                             host->authority);
    case CURLE_COULDNT_CONNECT:
        if (t->refused)
            return ocv_error_set(&x->error, OCV_ERR_NETWORK,
                                 "%s: %s has a loopback or link-local address: refused", x->what,
                                 host->authority);
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &code);
        why = code ? strerror((int)code) : t->error;
        return ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: cannot connect to %s: %s", x->what,
                             host->authority, *why ? why : "no connection");
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return tls_failure(x, host, why);
    case CURLE_OPERATION_TIMEDOUT:
        return timed_out(x, host);
    case CURLE_PARTIAL_FILE:
        return ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: answer of %s is cut short: %s",
                             x->what, host->authority, why);
    case CURLE_BAD_CONTENT_ENCODING:
        return ocv_error_set(&x->error, OCV_ERR_DATA, "%s: answer of %s is badly compressed: %s",
                             x->what, host->authority, why);
    default:
        return ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: connection to %s failed: %s", x->what,
                             host->authority, why);
    }
}

int ocv_failure_curl(struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    int status = describe_failure(x, host);
    const char *variable = x->transfer.proxy_variable;
    if ((status == OCV_ERR_NETWORK || status == OCV_ERR_TLS) && variable) {
        /* the proxy in between may have failed */
        const struct ocv_error was = x->error;
        ocv_error_set(&x->error, was.status, "%s (through the proxy %s of %s)", was.message,
                      x->transfer.proxy, variable);
        ocv_error_hint(&x->error, "%s",
                       was.hint[0] ? was.hint
                                   : "no_proxy names hosts that are reached without a proxy");
    }
    return status;
}

int ocv_failure_http(struct ocv_exchange *x, const struct ocv_registry_host *host)
{
    long status = x->transfer.response.status;
    char words[SERVER_WORDS_MAX];
    ocv_failure_text(&x->transfer.body, words, sizeof(words));
    const char *colon = *words ? ": " : "";
    const char *at = host->authority;
    char tries[32] = "";
    int result;
    if (x->attempts > 0)
        snprintf(tries, sizeof(tries), " after %u tries", x->attempts + 1);
    if (status == 401 || status == 403) {
        result = ocv_error_set(&x->error, OCV_ERR_DENIED, "%s: %s (HTTP %ld)%s%s", x->what,
                               x->login == OCV_LOGIN_USED
                                   ? "the credentials are rejected or not sufficient"
                                   : "access denied",
                               status, colon, words);
        ocv_creds_hint(x->registry, x->host->name, x->login, &x->error);
    } else if (status == 404) {
        result = ocv_error_set(&x->error, OCV_ERR_NOT_FOUND, "%s: not found on %s%s%s", x->what, at,
                               colon, words);
    } else if (status == 429) {
        result = ocv_error_set(&x->error, OCV_ERR_NETWORK,
                               "%s: %s allows no more requests now (HTTP 429)%s%s%s", x->what, at,
                               tries, colon, words);
    } else {
        result = ocv_error_set(&x->error, OCV_ERR_NETWORK, "%s: %s answers HTTP %ld%s%s%s", x->what,
                               at, status, tries, colon, words);
    }
    x->error.http_status = (int)status;
    return result;
}
