/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which devices kubelet has given to a pod: PodResources v1, `Get`, on kubelet's socket. They are
 * allocated before the first call for the pod's image. */
#ifndef CRI_PROXY_WORKLOAD_POD_RESOURCES_H
#define CRI_PROXY_WORKLOAD_POD_RESOURCES_H

#include "lib/core/given_devices.h"
#include "lib/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/workload/pods.h"

#define POD_RESOURCES_MS 2000u /**< for kubelet */
/** Ask for the pod (name and namespace). OCV_ERR_NETWORK where there is no answer in time,
 *  OCV_ERR_DATA where it is malformed or another pod's, OCV_ERR_NOT_FOUND. */
int pod_resources_ask(struct grpc_client *kubelet, const struct pod *pod,
                      struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** What a GetPodResourcesResponse says of that pod. */
int pod_resources_parse(const uint8_t *message, size_t len, const struct pod *pod,
                        struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
