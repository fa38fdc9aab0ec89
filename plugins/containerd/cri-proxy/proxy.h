/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proxy: a server and a client of lib/internal/grpc. A thread handles a call from its complete
 * request to the end of its answer (pass.c), so no call waits for another unless CALLS_MAX are
 * running. Answers are passed on as they arrive; lib/internal/grpc limits what a slow client has
 * not read yet. */
#ifndef CRI_PROXY_PROXY_H
#define CRI_PROXY_PROXY_H

#include "lib/internal/grpc/grpc.h"
#include "plugins/common/verdict.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <pthread.h>

#define CALLS_MAX 256u /* running at the same time; further ones wait */
#define AGAIN_S 10     /* interval of checking whether the node has changed */

struct proxy_options {
    int listen_fd;       /**< taken over */
    const char *backend; /**< the engine's socket */
    struct state *state;
    struct live_policy *policy;
    const struct decide *decide; /**< without the policy's settings */
    struct workload *workload;   /**< NULL: no repository uses it */
    unsigned drain_ms;
};
struct proxy {
    struct proxy_options options;
    struct grpc_server *server; /* to be run and stopped; ends drain_ms after that at the latest */
    struct grpc_client *engine;
    struct slots slots; /* of pulls being decided */
    pthread_t again;    /* chooses again after a change of the node */
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool looking, stopping;
};

int proxy_new(const struct proxy_options *options, struct proxy **out,
              struct ocv_error *err) OCV_WARN_UNUSED;
void proxy_free(struct proxy *proxy);

/** The current policy for images at `reference` (NULL: any), which must be put back, and all of
 *  `out`. */
const struct verdict_policy *proxy_find_policy(const struct proxy *proxy,
                                               const struct ocv_reference *reference,
                                               struct decide *out);

/** Handle one call of lib/internal/grpc's server; `data` is the proxy. */
void pass_call(void *data, struct grpc_call *call);
/** Further events for lib/internal/grpc's client to wait for. */
int pass_gone_fd(void *data);

/* The administrator's configuration. A reload replaces it, while running calls keep the one they
 * began with. */

struct live_policy;
/** Read the file with verdict_policy_read. */
int live_policy_new(const char *file, struct live_policy **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void live_policy_free(struct live_policy *live);
/** Read it again on the next request; may be called from a signal handler. If the file cannot be
 *  read, the old configuration stays. */
void live_policy_reload(struct live_policy *live);
/** The current policy, until live_policy_put. Any thread. */
const struct verdict_policy *live_policy_get(struct live_policy *live);
/** Number of times that it was read. */
unsigned live_policy_generation(struct live_policy *live);
void live_policy_put(struct live_policy *live, const struct verdict_policy *policy);

#endif
