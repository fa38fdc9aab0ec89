/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start and stop of the proxy, and its work between calls. */
#include "plugins/containerd/cri-proxy/proxy.h"

#include "plugins/containerd/cri-proxy/request/pinned.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (512u * 1024)

const struct verdict_policy *
proxy_find_policy(const struct proxy *p, const struct ocv_reference *reference, struct decide *out)
{
    const struct verdict_policy *policy = live_policy_get(p->options.policy);
    *out = *p->options.decide;
    out->config = policy->config;
    out->enforce = policy->enforce;
    out->closed = policy->closed;
    out->socket = policy->socket;
    out->choose = ocv_config_choose(ocv_config_for_reference(policy->config, reference));
    return policy;
}

static void *run_decisions(void *data)
{
    struct proxy *p = data;
    struct decide decide;
    char last[OCV_DIGEST_MAX] = "";
    unsigned last_generation = 0;
    struct timespec when;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        pthread_mutex_unlock(&p->lock);
        const struct verdict_policy *policy = proxy_find_policy(p, NULL, &decide);
        unsigned generation = live_policy_generation(p->options.policy);
        if (generation != last_generation) /* `override` makes another profile of the same text */
            last[0] = '\0';
        last_generation = generation;
        decide_again(&decide, last);
        if (p->options.workload)
            workload_tend(p->options.workload, &decide, generation);
        live_policy_put(p->options.policy, policy);
        clock_gettime(CLOCK_MONOTONIC, &when); /* the wall clock may be set back */
        when.tv_sec += AGAIN_S;
        pthread_mutex_lock(&p->lock);
        if (!p->stopping)
            pthread_cond_clockwait(&p->end, &p->lock, CLOCK_MONOTONIC, &when);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void log_trouble(void *data, const char *line)
{
    (void)data;
    log_line("%s", line);
}

static void on_tick(void *data)
{
    const struct proxy *p = data;
    grpc_client_tend(p->engine);
    if (p->options.workload)
        workload_tick(p->options.workload);
}

int proxy_new(const struct proxy_options *options, struct proxy **out, struct ocv_error *err)
{
    struct proxy *p = calloc(1, sizeof(*p));
    pthread_attr_t attributes;
    if (!p) {
        close(options->listen_fd);
        return ocv_error_nomem(err);
    }
    p->options = *options;
    slots_init(&p->slots);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->end, NULL);
    const struct grpc_server_options server = {.handle = pass_call,
                                               .data = p,
                                               .tick = on_tick,
                                               .workers = CALLS_MAX,
                                               .drain_ms = options->drain_ms,
                                               .framed = true,
                                               .log = log_trouble};
    int status = grpc_server_new(&server, options->listen_fd, &p->server, err);
    if (status == OCV_OK) /* no call is handled before the server runs */
        status = grpc_client_new(options->backend, &p->engine, err);
    if (status == OCV_OK) {
        grpc_client_set_gone(p->engine, pass_gone_fd);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        p->looking = pthread_create(&p->again, &attributes, run_decisions, p) == 0;
        pthread_attr_destroy(&attributes);
        if (!p->looking)
            status = ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    }
    if (status < 0) {
        proxy_free(p);
        return status;
    }
    *out = p;
    return OCV_OK;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->end);
    pthread_mutex_unlock(&p->lock);
    if (p->looking)
        pthread_join(p->again, NULL);
    grpc_server_free(p->server);
    grpc_client_free(p->engine);
    slots_destroy(&p->slots);
    pthread_cond_destroy(&p->end);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
