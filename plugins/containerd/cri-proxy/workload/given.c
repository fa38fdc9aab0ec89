/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod's devices: kubelet is asked once per pod. */
#include "plugins/containerd/cri-proxy/workload/workload_internal.h"

#include "lib/base/cleanup.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As kubelet reports them, which is remembered; empty if the pod has none. */
static int ask_kubelet(const struct work *work, char out[STATE_DEVICES_MAX], struct ocv_error *err)
{
    struct workload *w = work->workload;
    ocv_auto_free struct ocv_given_devices *devices = malloc(sizeof(*devices));
    ocv_auto(ocv_profile) profile = NULL;
    char digest[OCV_DIGEST_MAX];
    if (!devices)
        return ocv_error_nomem(err);
    OCV_TRY(pod_resources_ask(w->kubelet, &work->pod, devices, err));
    OCV_TRY(decide_profile(work->call->decide, &profile, digest, err));
    OCV_TRY(ocv_given_find(devices, profile, out, STATE_DEVICES_MAX, err));
    char *copy = strdup(out);
    if (!copy)
        return OCV_OK;
    pthread_mutex_lock(&w->lock);
    struct pod_devices *given = &w->given[w->next_given];
    w->next_given = (w->next_given + 1) % POD_DEVICES_MAX;
    free(given->devices);
    given->devices = copy;
    snprintf(given->uid, sizeof(given->uid), "%s", work->pod.uid);
    pthread_mutex_unlock(&w->lock);
    return OCV_OK;
}

/* Kubelet does not know: apply the administrator's setting. */
static bool devices_unknown(struct work *work, const char *why, struct workload_answer *answer)
{
    char reason[WORKLOAD_REASON_MAX];
    if (work->call->closed) {
        snprintf(reason, sizeof(reason),
                 "ocivariant: the devices of pod %s/%s are not known: %.400s", work->pod.name_space,
                 work->pod.name, why);
        answer_refusal(answer, GRPC_UNAVAILABLE, reason);
        return false;
    }
    log_line(
        "pod %s/%s gets the node's build, as its devices are not known: %s (%llu times so far)",
        work->pod.name_space, work->pod.name, why, counts_add(work->workload->counts, COUNT_NODE));
    snprintf(work->devices, sizeof(work->devices), "%s", DEVICES_NODE);
    return true;
}

bool work_find_devices(struct work *work, struct workload_answer *answer)
{
    struct ocv_error err = {0};
    struct workload *w = work->workload;
    if (work->call->mode != OCV_WORKLOAD_DEVICES || work->wishes.devices != WISHES_UNSAID)
        return true;
    if (!*work->pod.uid && !*work->pod.name)
        return true; /* a call without a pod, from crictl */
    if (!*work->pod.name)
        return devices_unknown(work, "its name is not known", answer);
    bool found = false;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < POD_DEVICES_MAX && !found; i++)
        if (w->given[i].devices && strcmp(w->given[i].uid, work->pod.uid) == 0) {
            snprintf(work->devices, sizeof(work->devices), "%s", w->given[i].devices);
            found = true;
        }
    pthread_mutex_unlock(&w->lock);
    if (!found && ask_kubelet(work, work->devices, &err) < 0)
        return devices_unknown(work, err.message, answer);
    if (!*work->devices) {
        const char *instead = ocv_config_get(work->call->config, "no_device");
        snprintf(work->devices, sizeof(work->devices), "%s",
                 instead && strcmp(instead, "cpu") == 0 ? DEVICES_CPU : DEVICES_NODE);
    }
    return true;
}
