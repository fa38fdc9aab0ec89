/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the pod that a call is about. PullImage names it; ImageStatus tells when kubelet first saw
 * the pod (kubernetes.io/config.seen, which kubelet itself overwrites), and the engine's sandboxes
 * have both. Kept in memory; the engine knows the rest. Thread-safe. */
#ifndef CRI_PROXY_WORKLOAD_PODS_H
#define CRI_PROXY_WORKLOAD_PODS_H

#include "lib/internal/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/workload/pod_table.h"
#include "plugins/containerd/cri-proxy/workload/request.h"

#define PODS_MAX 2048u     /**< the oldest ones are dropped */
#define PODS_NAME_MAX 256u /**< bytes of a pod's name or namespace */
#define PODS_ASK_MS 2000u  /**< for the engine */

/** A pod; unknown texts are empty. */
struct pod {
    char uid[TABLE_POD_MAX], seen[TABLE_POD_MAX];
    char name[PODS_NAME_MAX], name_space[PODS_NAME_MAX];
};

struct pods;
int pods_new(struct pods **out, struct ocv_error *err) OCV_WARN_UNUSED;
void pods_free(struct pods *pods);
/** Find the calling pod from the request and the pods seen before; a PullImage's pod is
 *  remembered. */
void pods_of_request(struct pods *pods, const struct workload_request *request, struct pod *out);
/** The only remembered pod with that config.seen. */
bool pods_find(struct pods *pods, const char *seen, struct pod *out);
/** Free with pods_list_free. */
struct pods_list {
    struct pod *list;
    size_t n;
};
/** Ask the engine for its sandboxes and remember their pods. `live`: all of them. */
int pods_ask(struct pods *pods, struct grpc_client *engine, struct pods_list *live,
             struct ocv_error *err) OCV_WARN_UNUSED;
void pods_list_free(struct pods_list *list);

/** Append the pods of a ListPodSandboxResponse to `out`. OCV_ERR_DATA if it is malformed. */
int pods_parse(const uint8_t *message, size_t len, struct pods_list *out,
               struct ocv_error *err) OCV_WARN_UNUSED;

#endif
