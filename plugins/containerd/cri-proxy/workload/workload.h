/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tag, one node, several digests: what a call of the image service gets where the repository
 * has `workload` on (docs/workload.md).
 *
 * What kubelet does, and what follows:
 * - PullImage has the pod's annotations and its uid; ImageStatus has the annotations alone.
 *   CreateContainer names the id that one of the two answered, so the choice is made here alone.
 * - Before every CreateContainer kubelet asks ImageStatus once more, without annotations, and takes
 *   the container's user from the answer; "absent" means root there. So all that can be chosen must
 *   have one user (users.h, table.h), any present child answers it, and nothing else is an answer.
 * - "Absent" to an ImageStatus with annotations leads to PullImage, which has the uid and the
 *   registry's credentials: an image without a row here is absent. The name in the pod is never
 *   passed to the engine, which may have an image of that name that was not chosen here. */
#ifndef CRI_PROXY_WORKLOAD_H
#define CRI_PROXY_WORKLOAD_H

#include "lib/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/workload/pods.h"

#define WORKLOAD_REASON_MAX 900u /**< bytes; grpc-message has to carry it, escaped */

struct workload_options {
    const char *state;         /**< directory of the tables */
    const char *backend;       /**< the engine's socket */
    const char *pod_resources; /**< kubelet's socket */
    const char *metrics;       /**< file for the counters, or NULL */
};
struct workload;
int workload_new(const struct workload_options *options, struct workload **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void workload_free(struct workload *workload);

/** A call; everything is borrowed. */
struct workload_call {
    const struct decide *decide;     /**< with what the policy says */
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
    WORKLOAD_EDIT,    /**< on to the engine with another name */
    WORKLOAD_AS_SENT, /**< on to the engine */
    WORKLOAD_ABSENT,  /**< an ImageStatus of an image that is not there */
    WORKLOAD_ANSWER,  /**< with the bytes of a message */
    WORKLOAD_REFUSE
};
struct workload_answer {
    enum workload_way way;
    char name[PINNED_TEXT_MAX]; /**< WORKLOAD_EDIT */
    struct ocv_buffer body;     /**< WORKLOAD_ANSWER */
    enum grpc_code code;        /**< WORKLOAD_REFUSE */
    char reason[WORKLOAD_REASON_MAX];
    char fresh[TABLE_POD_MAX]; /**< uid of a pod that chose in this very call, or empty */
};
/** PullImage. Blocks. `auth` is changed. Free answer->body. */
void workload_pull(struct workload *workload, const struct workload_call *call,
                   struct wire_auth *auth, struct workload_answer *answer);
/** ImageStatus, likewise. */
void workload_status(struct workload *workload, const struct workload_call *call,
                     struct workload_answer *answer);
/** The engine could not pull what was chosen for that pod (`fresh` of the answer): it may choose
 *  again. */
void workload_failed(struct workload *workload, const char *text, const char *fresh);
/** Now and then: forget pods that are gone, and choose again where the profile has changed, or the
 *  configuration (`generation` of live_policy). */
void workload_tend(struct workload *workload, const struct decide *decide, unsigned generation);
/** About once a second. */
void workload_tick(struct workload *workload);

#endif
