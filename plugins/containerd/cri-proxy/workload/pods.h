/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pod a call is about. PullImage says it; ImageStatus says when kubelet first saw the pod
 * (kubernetes.io/config.seen, which kubelet itself writes over whatever the pod has), and the
 * engine's sandboxes have both. In memory; the engine knows the rest. Thread-safe. */
#ifndef CRI_PROXY_WORKLOAD_PODS_H
#define CRI_PROXY_WORKLOAD_PODS_H

#include "lib/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/workload/pod_table.h"
#include "plugins/containerd/cri-proxy/workload/request.h"

#define PODS_MAX 2048u     /**< the oldest go */
#define PODS_NAME_MAX 256u /**< bytes of a pod's name or namespace */
#define PODS_ASK_MS 2000u  /**< for the engine */

/** A pod; texts are empty where they are not known. */
struct pod {
    char uid[TABLE_POD_MAX], seen[TABLE_POD_MAX];
    char name[PODS_NAME_MAX], name_space[PODS_NAME_MAX];
};

struct pods;
int pods_new(struct pods **out, struct ocv_error *err) OCV_WARN_UNUSED;
void pods_free(struct pods *pods);
/** Who asks, by what the request says and what is remembered; PullImage's pod is remembered. */
void pods_of_request(struct pods *pods, const struct workload_request *request, struct pod *out);
/** The one remembered pod with that config.seen. */
bool pods_find(struct pods *pods, const char *seen, struct pod *out);
/** Freed with pods_list_free. */
struct pods_list {
    struct pod *list;
    size_t n;
};
/** Ask the engine for its sandboxes, and remember their pods. `live`: all of them. */
int pods_ask(struct pods *pods, struct grpc_client *engine, struct pods_list *live,
             struct ocv_error *err) OCV_WARN_UNUSED;
void pods_list_free(struct pods_list *list);

/** The pods of a ListPodSandboxResponse, appended to `out`. Malformed: OCV_ERR_DATA. */
int pods_parse(const uint8_t *message, size_t len, struct pods_list *out,
               struct ocv_error *err) OCV_WARN_UNUSED;

#endif
