/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of a call. */
#ifndef CRI_PROXY_WORKLOAD_INTERNAL_H
#define CRI_PROXY_WORKLOAD_INTERNAL_H

#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <pthread.h>

#define REFUSALS_MAX 256u
#define REFUSAL_MS 60000 /* ImageStatus repeats a refusal for this long; then the pod may pull */

/* A refusal by PullImage, which ImageStatus of that pod repeats. */
struct refusal {
    char *key; /* of refusal_key */
    enum grpc_code code;
    char reason[WORKLOAD_REASON_MAX];
    int64_t until;
};

/* Kubelet's answer about a pod. */
struct pod_devices {
    char uid[STATE_POD_MAX];
    char *devices; /* in the format of a key */
};
#define POD_DEVICES_MAX 1024u
#define WARNED_MAX 256u /* pods that were told of an unknown annotation */

struct workload {
    struct state *state;
    struct users users;
    struct pods *pods;
    struct grpc_client *engine, *kubelet;
    struct counts *counts;
    pthread_mutex_t lock; /* for the members below */
    struct refusal refusals[REFUSALS_MAX];
    size_t next_refusal;
    struct pod_devices given[POD_DEVICES_MAX];
    size_t next_given;
    char *warned[WARNED_MAX]; /* of warn_unknown */
    size_t next_warned;
    /* used by workload_tend only */
    char profile[OCV_DIGEST_MAX];
    unsigned generation;
    int64_t pruned;
};

/* One call, as far as its request tells. */
struct work {
    struct workload *workload;
    const struct workload_call *call;
    struct workload_request request;
    struct workload_wishes wishes;
    struct pod pod;
    char devices[STATE_DEVICES_MAX];
};
/** Read the request. False: refused, and the answer has the reason. Free the wishes in any case. */
bool work_begin(struct work *work, struct workload_answer *answer);
struct state_key work_key(const struct work *work);
struct state_pod work_pod(const struct work *work);

/** Pass on to the engine with that child in place of the tag. */
void answer_child(const struct work *work, const char *child, struct workload_answer *answer);
void answer_refusal(struct workload_answer *answer, enum grpc_code code, const char *reason);
/** Answer according to an error's status. */
void answer_error(struct workload_answer *answer, const struct ocv_error *err);

/** Find the pod's devices, if the repository is configured for devices and the pod does not name
 *  them in an annotation. False: refused, as `fail` requires. */
bool work_find_devices(struct work *work, struct workload_answer *answer);

void refusal_keep(const struct work *work, const struct workload_answer *answer);
bool refusal_find(const struct work *work, struct workload_answer *answer);

#endif
