/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tag, one node, several digests: answers calls of the image service for repositories with
 * `workload` on (docs/workload.md).
 *
 * Kubelet's behaviour, and its consequences:
 * - PullImage has the pod's annotations and its uid; ImageStatus has only the annotations.
 *   CreateContainer names the id that one of the two returned, so the choice is made only here.
 * - Before every CreateContainer kubelet calls ImageStatus once more, without annotations, and
takes
 *   the container's user from the answer; "absent" means root there. So all possible choices must
 *   have one user (users.h, pod_table.h), any present child is an answer, and nothing else is.
 * - "Absent" as the answer to an ImageStatus with annotations leads to PullImage, which has the uid
 *   and the registry's credentials, so an image without a row here is absent. The name in the pod
is
 *   never passed to the engine, which may have an image of that name that was not chosen here. */
#ifndef CRI_PROXY_WORKLOAD_H
#define CRI_PROXY_WORKLOAD_H

#include "lib/internal/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/workload/pods.h"

#define WORKLOAD_REASON_MAX 900u /**< bytes; grpc-message must hold it, escaped */

struct workload_options {
    const char *state;         /**< directory of the tables */
    const char *backend;       /**< the engine's socket */
    const char *pod_resources; /**< kubelet's socket */
    const char *metrics;       /**< file of the counters, or NULL */
};
struct workload;
int workload_new(const struct workload_options *options, struct workload **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void workload_free(struct workload *workload);

/** A call; everything is borrowed. */
struct workload_call {
    const struct decide *decide;     /**< with the policy's settings */
    const struct ocv_config *config; /**< of the repository */
    enum ocv_workload mode;
    bool closed;      /**< `fail` */
    const char *path; /**< of the method */
    const char *text; /**< the reference as sent */
    const struct ocv_reference *reference;
    const uint8_t *message;
    size_t len;
    const struct wire_image *image;
    const volatile int *interrupted;
};

enum workload_way {
    WORKLOAD_EDIT,    /**< pass on to the engine with another name */
    WORKLOAD_AS_SENT, /**< pass on to the engine */
    WORKLOAD_ABSENT,  /**< answer an ImageStatus: no such image */
    WORKLOAD_ANSWER,  /**< answer with the bytes of a message */
    WORKLOAD_REFUSE
};
struct workload_answer {
    enum workload_way way;
    char name[PINNED_TEXT_MAX]; /**< WORKLOAD_EDIT */
    struct ocv_buffer body;     /**< WORKLOAD_ANSWER */
    enum grpc_code code;        /**< WORKLOAD_REFUSE */
    char reason[WORKLOAD_REASON_MAX];
    bool silent;               /**< refused, since the registry sent nothing in time */
    char fresh[TABLE_POD_MAX]; /**< uid of a pod whose choice was made in this call, or empty */
};
/** Handle PullImage. Blocks. Modifies `auth`. Free answer->body. */
void workload_pull(struct workload *workload, const struct workload_call *call,
                   struct wire_auth *auth, struct workload_answer *answer);
/** Handle ImageStatus in the same way. */
void workload_status(struct workload *workload, const struct workload_call *call,
                     struct workload_answer *answer);
/** The engine failed to pull the choice for that pod (`fresh` of the answer): it may choose
 *  again. */
void workload_failed(struct workload *workload, const char *text, const char *fresh);
/** Call now and then: drop pods that are gone, and choose again if the profile or the configuration
 *  (`generation` of live_policy) has changed. */
void workload_tend(struct workload *workload, const struct decide *decide, unsigned generation);
/** Call about once a second. */
void workload_tick(struct workload *workload);

#endif
