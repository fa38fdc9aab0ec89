/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registry requests for a pinned reference: fetch the index, and check that the child exists. */
#include "plugins/containerd/cri-proxy/pinned/decide_internal.h"
#include "plugins/containerd/cri-proxy/pinned/proxy_log.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_MS 5000u
#define RETRIES 1u

static void registry_log(void *data, const char *line)
{
    (void)data;
    log_debug("%s", line);
}

int decide_open_registry(const struct ocv_config *config, const struct wire_auth *auth,
                         const volatile int *interrupted, struct ocv_registry **out,
                         struct ocv_error *err)
{
    char agent[64];
    struct ocv_registry_options options = {
        .user_agent = agent,
        .username = auth->username,
        .password = auth->password,
        .identity_token = auth->username ? NULL : auth->identity_token,
        .registry_token = auth->username || auth->identity_token ? NULL : auth->registry_token,
        .given_only = true,
        .retries = RETRIES,
        .connect_timeout_ms = CONNECT_MS,
        .interrupted = interrupted,
        .log = registry_log,
    };
    snprintf(agent, sizeof(agent), "ocivariant-cri-proxy/%s", ocv_version());
    options.n_registries = ocv_config_registries(config, &options.registries);
    OCV_TRY(ocv_registry_new(&options, out, err));
    ocv_registry_deadline(*out, DECIDE_MS);
    return OCV_OK;
}

/* Engines do not fall back if a child does not exist. */
static int check_child(const struct pinned_choice *q, struct ocv_registry *registry,
                       struct ocv_error *err)
{
    char text[PINNED_TEXT_MAX];
    struct ocv_descriptor found;
    ocv_auto(ocv_reference) child = NULL;
    snprintf(text, sizeof(text), "%s@%s", q->reference->name, q->entry->digest);
    OCV_TRY(ocv_reference_parse(text, &child, err));
    OCV_TRY(ocv_registry_head(registry, child, &found, err));
    if ((strcmp(found.digest, q->entry->digest) != 0 || found.size != q->entry->size ||
         strcmp(found.media_type, q->entry->media_type) != 0))
        return ocv_error_set(err, OCV_ERR_MISMATCH,
                             "the registry's %s is not what the index says it is", text);
    return OCV_OK;
}

int decide_ask(struct pinned_choice *q, const struct wire_auth *auth,
               const volatile int *interrupted, struct ocv_error *err)
{
    ocv_auto(ocv_registry) registry = NULL;
    struct ocv_descriptor found;
    int status = decide_open_registry(q->decide->config, auth, interrupted, &registry, err);
    if (status == OCV_OK)
        status =
            ocv_registry_get(registry, q->reference, q->reference->digest, &q->body, &found, err);
    if (status == OCV_OK)
        status = decide_choose(q, registry, found.media_type, err);
    if (status == OCV_OK && q->entry)
        status = check_child(q, registry, err);
    q->silent = status < 0 && registry && ocv_registry_was_silent(registry);
    return status;
}
