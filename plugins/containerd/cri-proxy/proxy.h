/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proxy: lib/grpc's server before, its client behind. A call is a thread's from its whole
 * request to the end of its answer (pass.c), so that none waits for another but where CALLS_MAX run
 * at once. Answers go through in pieces as they come; what a slow client has not taken is bounded
 * by lib/grpc. */
#ifndef CRI_PROXY_PROXY_H
#define CRI_PROXY_PROXY_H

#include "lib/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/live_policy.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <pthread.h>
#include <semaphore.h>

#define CALLS_MAX 256u   /* that run at once; more wait for one to end */
#define DECISIONS_MAX 4u /* pulls that are decided at once */
#define AGAIN_S 10       /* how often the node is asked whether it has changed */

struct proxy_options {
    int listen_fd;       /**< taken over */
    const char *backend; /**< the engine's socket */
    struct map *map;
    struct live_policy *policy;
    const struct decide *decide; /**< without what the policy says */
    struct workload *workload;   /**< NULL: no repository has one */
    unsigned drain_ms;
};
struct proxy {
    struct proxy_options options;
    struct grpc_server *server;
    struct grpc_client *engine;
    sem_t deciding;
    pthread_t again; /* chooses again when the node changes */
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool looking, stopping;
};

int proxy_new(const struct proxy_options *options, struct proxy **out,
              struct ocv_error *err) OCV_WARN_UNUSED;
/** Until proxy_stop; returns when every call has ended, or drain_ms after it. */
int proxy_run(struct proxy *proxy, struct ocv_error *err) OCV_WARN_UNUSED;
/** From any thread or a signal handler. */
void proxy_stop(struct proxy *proxy);
void proxy_free(struct proxy *proxy);

/** What is decided by now, for the images at `reference` (NULL: for any): the policy, which is to
 *  be put back, and all of `out`. */
const struct verdict_policy *proxy_find_policy(const struct proxy *proxy, const char *reference,
                                               struct decide *out);

/* ---- pass.c ---------------------------------------------------------------------------------- */

/** One call, of lib/grpc's server; `data` is the proxy. */
void pass_call(void *data, struct grpc_call *call);
/** Further events that lib/grpc's client waits for. */
int pass_gone_fd(void *data);

#endif
