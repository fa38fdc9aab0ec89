/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod's devices: kubelet is asked once per pod. */
#include "plugins/containerd/cri-proxy/workload/workload_internal.h"

#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool recall_devices(struct workload *w, const char *uid, char out[STATE_DEVICES_MAX])
{
    bool found = false;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < POD_DEVICES_MAX && !found; i++)
        if (w->given[i].devices && strcmp(w->given[i].uid, uid) == 0) {
            snprintf(out, STATE_DEVICES_MAX, "%s", w->given[i].devices);
            found = true;
        }
    pthread_mutex_unlock(&w->lock);
    return found;
}

static void remember_devices(struct workload *w, const char *uid, const char *devices)
{
    char *copy = strdup(devices);
    if (!copy)
        return;
    pthread_mutex_lock(&w->lock);
    struct pod_devices *given = &w->given[w->next_given];
    w->next_given = (w->next_given + 1) % POD_DEVICES_MAX;
    free(given->devices);
    given->devices = copy;
    snprintf(given->uid, sizeof(given->uid), "%s", uid);
    pthread_mutex_unlock(&w->lock);
}

/* As kubelet reports them; empty if the pod has none. */
static int ask_kubelet(const struct work *work, char out[STATE_DEVICES_MAX], struct ocv_error *err)
{
    struct ocv_given_devices *given = malloc(sizeof(*given));
    ocv_auto(ocv_profile) profile = NULL;
    char digest[OCV_DIGEST_MAX];
    if (!given)
        return ocv_error_nomem(err);
    int status = pod_resources_ask(work->workload->kubelet, &work->pod, given, err);
    if (status == OCV_OK)
        status = decide_profile(work->call->decide, &profile, digest, err);
    if (status == OCV_OK)
        status = ocv_given_find(given, profile, out, STATE_DEVICES_MAX, err);
    free(given);
    return status;
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
    if (!recall_devices(w, work->pod.uid, work->devices)) {
        if (ask_kubelet(work, work->devices, &err) < 0)
            return devices_unknown(work, err.message, answer);
        remember_devices(w, work->pod.uid, work->devices);
    }
    if (!*work->devices) {
        const char *instead = ocv_config_get(work->call->config, "no_device");
        snprintf(work->devices, sizeof(work->devices), "%s",
                 instead && strcmp(instead, "cpu") == 0 ? DEVICES_CPU : DEVICES_NODE);
    }
    return true;
}
