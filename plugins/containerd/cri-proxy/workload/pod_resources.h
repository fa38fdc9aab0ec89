/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks kubelet's socket which devices a pod has: PodResources v1, `Get`. They are allocated before
 * the first call for the pod's image. */
#ifndef CRI_PROXY_WORKLOAD_POD_RESOURCES_H
#define CRI_PROXY_WORKLOAD_POD_RESOURCES_H

#include "lib/core/given_devices.h"
#include "lib/internal/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/workload/pods.h"

#define POD_RESOURCES_MS 2000u /**< for kubelet */
/** Ask about the pod (name and namespace). OCV_ERR_NETWORK if there is no answer in time,
 *  OCV_ERR_DATA if it is malformed or another pod's, OCV_ERR_NOT_FOUND. */
int pod_resources_ask(struct grpc_client *kubelet, const struct pod *pod,
                      struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read that pod's devices from a GetPodResourcesResponse. */
int pod_resources_parse(const uint8_t *message, size_t len, const struct pod *pod,
                        struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
