/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client object: settings, the multi handle that keeps connections, the table of hosts. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/registry/registry_internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The one piece of process-wide state: libcurl (and OpenSSL below it) wants to be initialised once,
 * before any other of its calls and not by two threads at a time. It is never undone: another user
 * of libcurl in the process may still need it. */
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_result;

static void init_curl(void)
{
    curl_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

int ocv_registry_global(struct ocv_error *err)
{
    pthread_once(&curl_once, init_curl);
    if (curl_result != CURLE_OK)
        return ocv_error_set(err, OCV_ERR_NETWORK, "cannot initialise libcurl: %s",
                             curl_easy_strerror(curl_result));
    return OCV_OK;
}

void ocv_registry_log(const struct ocv_registry *registry, const char *format, ...)
{
    if (!registry->log)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *p = line; *p; p++) /* parts come from servers: no terminal may obey them */
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    registry->log(registry->log_data, line);
}

void ocv_registry_deadline(struct ocv_registry *registry, unsigned timeout_ms)
{
    registry->patience_ms = timeout_ms;
    registry->deadline = timeout_ms ? ocv_clock_ms() + timeout_ms : 0;
}

int ocv_registry_left(const struct ocv_registry *registry, int wait_ms)
{
    if (!registry->deadline)
        return wait_ms;
    int64_t left = registry->deadline - ocv_clock_ms();
    return left <= 0 ? 0 : left < wait_ms ? (int)left : wait_ms;
}

static bool copy_text(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

int ocv_registry_new(const struct ocv_registry_options *options, struct ocv_registry **out,
                     struct ocv_error *err)
{
    static const struct ocv_registry_options defaults;
    const struct ocv_registry_options *o = options ? options : &defaults;
    char agent[64];
    OCV_TRY(ocv_registry_global(err));
    ocv_auto(ocv_registry) r = calloc(1, sizeof(*r));
    if (!r)
        return ocv_error_nomem(err);
    r->multi = curl_multi_init();
    if (!r->multi)
        return ocv_error_nomem(err);
    snprintf(agent, sizeof(agent), "ocivariant/%s", ocv_version());
    if (!copy_text(&r->user_agent, o->user_agent ? o->user_agent : agent) ||
        !copy_text(&r->ca_file, o->ca_file) || !copy_text(&r->cert_file, o->cert_file) ||
        !copy_text(&r->key_file, o->key_file) || !copy_text(&r->username, o->username) ||
        !copy_text(&r->password, o->password) || !copy_text(&r->auth_file, o->auth_file) ||
        !copy_text(&r->certs_dir, o->certs_dir) ||
        !copy_text(&r->identity_token, o->identity_token) ||
        !copy_text(&r->registry_token, o->registry_token))
        return ocv_error_nomem(err);
    if (o->n_insecure && !(r->insecure = calloc(o->n_insecure, sizeof(*r->insecure))))
        return ocv_error_nomem(err);
    for (size_t i = 0; i < o->n_insecure; i++, r->n_insecure++)
        if (!copy_text(&r->insecure[i], o->insecure[i]))
            return ocv_error_nomem(err);
    r->registries = o->registries;
    r->n_registries = o->n_registries;
    r->retries = !o->retries ? 5 : o->retries == OCV_RETRIES_NONE ? 0 : o->retries;
    r->silent_retries = o->retries ? r->retries : 2;
    r->connect_timeout_ms = o->connect_timeout_ms ? o->connect_timeout_ms : 30000;
    r->stall_timeout_ms = o->stall_timeout_ms ? o->stall_timeout_ms : 60000;
    r->document_timeout_ms = o->document_timeout_ms        ? o->document_timeout_ms
                             : r->stall_timeout_ms < 15000 ? r->stall_timeout_ms
                                                           : 15000;
    r->ca_store = o->ca_store;
    r->anonymous = o->anonymous;
    r->given_only = o->given_only;
    r->service = o->service;
    r->interrupted = o->interrupted;
    r->log = o->log;
    r->log_data = o->log_data;
    r->budget = o->budget;
    r->budget_data = o->budget_data;
    r->wait = o->wait;
    r->wait_data = o->wait_data;
    r->credential_providers = o->credential_providers;
    if (r->key_file && !r->cert_file)
        return ocv_error_set(err, OCV_ERR_INVALID, "a client key needs its certificate");
    *out = ocv_steal(&r);
    return OCV_OK;
}

void ocv_registry_free(struct ocv_registry *registry)
{
    if (!registry)
        return;
    while (registry->hosts) {
        struct ocv_registry_host *host = registry->hosts;
        registry->hosts = host->next;
        ocv_registry_host_free(host);
    }
    if (registry->multi)
        curl_multi_cleanup(registry->multi);
    for (size_t i = 0; i < registry->n_insecure; i++)
        free(registry->insecure[i]);
    free(registry->insecure);
    free(registry->user_agent);
    free(registry->ca_file);
    free(registry->cert_file);
    free(registry->key_file);
    ocv_secret_free(registry->username);
    ocv_secret_free(registry->password);
    ocv_secret_free(registry->identity_token);
    ocv_secret_free(registry->registry_token);
    free(registry->auth_file);
    free(registry->certs_dir);
    free(registry);
}
