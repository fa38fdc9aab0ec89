/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* /v2/: does the registry answer, and to whom (distribution-spec, "Determining Support")? */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX 65536

static int send_ping(struct ocv_registry *registry, struct ocv_registry_host *host, bool log_in,
                     int64_t begun, struct ocv_exchange *x, struct ocv_error *err)
{
    *x = (struct ocv_exchange){.registry = registry,
                               .host = host,
                               .what = host->name,
                               .kind = "ping",
                               .method = "GET",
                               .path = "/v2/",
                               .repository = log_in ? "" : NULL,
                               .begun = begun,
                               .body_max = BODY_MAX};
    return ocv_exchange_run(x, err);
}

int ocv_ping_challenges(struct ocv_exchange *asker, const struct ocv_buffer **out,
                        struct ocv_error *err)
{
    struct ocv_registry_host *host = asker->host;
    struct ocv_error local = {0};
    struct ocv_exchange x;
    *out = &host->challenges;
    if (host->pinged)
        return OCV_OK;
    /* as a token's, its time is that of the document it is for */
    int64_t begun = ocv_exchange_is_document(asker) ? asker->begun : 0;
    int status = send_ping(asker->registry, host, false, begun, &x, &local);
    /* what another host asks for where this one redirects is not for this one's credentials; what
     * passes is asked again */
    long code = local.http_status;
    host->pinged = status == OCV_OK || (code >= 400 && code < 500 && code != 408 && code != 429);
    if (code == 401 && !x.redirect) { /* moved */
        ocv_buffer_free(&host->challenges);
        host->challenges = x.transfer.response.challenges;
        ocv_buffer_init(&x.transfer.response.challenges, OCV_CHALLENGES_MAX);
    }
    ocv_exchange_free(&x);
    if (status != OCV_ERR_INTERRUPTED && status != OCV_ERR_NOMEM)
        return OCV_OK;
    if (err)
        *err = local;
    return status;
}

int ocv_registry_ping(struct ocv_registry *registry, const char *name, bool *logged_in,
                      enum ocv_registry_access *out, struct ocv_error *err)
{
    struct ocv_registry_host *host = NULL;
    struct ocv_credentials credentials = {0};
    struct ocv_exchange x;
    struct ocv_error local = {0};
    *logged_in = false;
    *out = OCV_REGISTRY_ACCESS_OPEN;
    OCV_TRY(ocv_registry_host_get(registry, name, &host, err));
    int status = send_ping(registry, host, false, 0, &x, &local);
    int64_t begun = x.begun;
    bool challenged = status == OCV_ERR_DENIED && local.http_status == 401;
    if (challenged)
        *out = OCV_REGISTRY_ACCESS_LOGIN;
    /* A registry with a token server gives a token to anybody; each repository decides. */
    const char *line = challenged ? x.transfer.response.challenges.data : NULL;
    while (line && *line) {
        struct ocv_challenge list[4];
        size_t len = strcspn(line, "\n");
        size_t n = ocv_challenge_parse(line, len, list, sizeof(list) / sizeof(*list));
        for (size_t i = 0; i < n; i++)
            if (!strcmp(list[i].scheme, "bearer"))
                *out = OCV_REGISTRY_ACCESS_TOKEN;
        line += len + (line[len] == '\n');
    }
    ocv_exchange_free(&x);
    if (!challenged) {
        if (status < 0 && err)
            *err = local;
        return status;
    }
    status = ocv_creds_find(registry, host->account, NULL, &credentials, err);
    *logged_in = status == OCV_OK && !ocv_credentials_empty(&credentials);
    ocv_credentials_free(&credentials);
    if (status < 0 || !*logged_in)
        return status;
    local = (struct ocv_error){0};
    status = send_ping(registry, host, true, begun, &x, &local);
    ocv_exchange_free(&x);
    bool refused = status == OCV_ERR_DENIED && (local.http_status == 401 || !local.http_status);
    if (status < 0 && (refused || status == OCV_ERR_NETWORK || status == OCV_ERR_TLS)) {
        if (err)
            *err = local;
        return status;
    }
    return OCV_OK; /* other errors of a request without a repository mean nothing */
}
