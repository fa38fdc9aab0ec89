/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ImageStatus: with annotations for a pod, without them for a container's user. There are no
 * credentials, so no registry is asked. */
#include "plugins/containerd/cri-proxy/workload/workload_internal.h"

#include "lib/internal/grpc/grpc.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <string.h>

#define CHILDREN_MAX 64u /* of a reference that are looked up in the engine */
#define STATUS_MS 10000u /* for one of them */
#define ANSWER_MAX (4u * 1024 * 1024)

/* The choice stored for such pods, which then becomes this pod's. */
static bool find_child(const struct work *work, struct state_value *out)
{
    struct workload *w = work->workload;
    struct ocv_error err = {0};
    const struct state_pod pod = work_pod(work);
    const struct state_key key = work_key(work);
    if (!state_find_choice(w->state, &key, out))
        return false;
    if (state_put_pod(w->state, work->call->text, &pod, out, &err) == OCV_OK)
        return true;
    log_line("%s: the pod's choice cannot be kept: %s", work->call->text, err.message);
    return false;
}

static void status_of_pod(struct work *work, struct workload_answer *answer)
{
    struct state_value value;
    struct workload *w = work->workload;
    const struct state_pod pod = work_pod(work); /* points into work->pod */
    bool by_devices =
        work->call->mode == OCV_WORKLOAD_DEVICES && work->wishes.devices == WISHES_UNSAID;
    bool found = state_find_pod(w->state, work->call->text, &pod, &value);
    if (!found && by_devices) {
        if (!*work->pod.name && !pods_find(w->pods, work->pod.seen, &work->pod)) {
            struct pods_list live;
            struct ocv_error err = {0};
            if (pods_ask(w->pods, w->engine, &live, &err) < 0)
                log_line("%s", err.message);
            pods_list_free(&live);
            pods_find(w->pods, work->pod.seen, &work->pod);
        }
        found = state_find_pod(w->state, work->call->text, &pod, &value);
        if (!found && !*work->pod.name) { /* after a restart of kubelet */
            found = state_find_only(w->state, work->call->text, work->wishes.text, &value);
        } else if (!found && !work_find_devices(work, answer)) {
            return;
        }
        found = found || (*work->pod.name && find_child(work, &value));
    } else if (!found) {
        found = find_child(work, &value);
    }
    if (found)
        answer_child(work, value.child, answer);
    else if (!refusal_find(work, answer))
        answer->way = WORKLOAD_ABSENT;
}

struct status_call {
    struct ocv_buffer *body;
    bool present; /* the answer has an image */
};

/* ImageStatusResponse { Image image = 1; ... } */
static int on_status(void *data, const uint8_t *message, size_t len)
{
    struct status_call *a = data;
    struct grpc_field field;
    size_t pos = 0;
    a->body->len = 0;
    while (grpc_field_next(message, len, &pos, &field) == 1)
        a->present = a->present || (field.number == 1 && field.type == GRPC_BYTES);
    return ocv_buffer_append(a->body, message, len, NULL) < 0;
}

static void status_of_user(const struct work *work, struct workload_answer *answer)
{
    static const char none[] = "ocivariant: %.300s: no build of it that was chosen here is on this "
                               "node; pods choose when they pull";
    char children[CHILDREN_MAX][OCV_DIGEST_MAX], reason[WORKLOAD_REASON_MAX];
    const struct workload_call *call = work->call;
    size_t n = state_children(work->workload->state, call->text, children, CHILDREN_MAX);
    ocv_buffer_init(&answer->body, ANSWER_MAX);
    for (size_t i = 0; i < n; i++) {
        char name[PINNED_TEXT_MAX];
        struct grpc_result result;
        struct ocv_error err = {0};
        struct status_call asking = {.body = &answer->body};
        ocv_auto_buffer message;
        ocv_buffer_init(&message, GRPC_MESSAGE_MAX);
        if (!pinned_rewrite(call->text, strlen(call->text), children[i], name) ||
            wire_replace_image(call->message, call->len, call->image, name, &message, NULL) < 0)
            continue;
        int status = grpc_client_call(work->workload->engine, call->path, NULL, 0, message.data,
                                      message.len, STATUS_MS, on_status, &asking, &result, &err);
        if (status < 0 || result.code != GRPC_OK) {
            log_debug("%s: %s", name, status < 0 ? err.message : result.message);
        } else if (asking.present) { /* the engine has that child; its answer is then ours */
            answer->way = WORKLOAD_ANSWER;
            return;
        }
    }
    if (n == 0 && call->reference->digest &&
        state_knows_digest(work->workload->state, call->reference->name, call->reference->digest)) {
        answer->way = WORKLOAD_AS_SENT; /* a child, by its own name */
        return;
    }
    snprintf(reason, sizeof(reason), none, call->text);
    answer_refusal(answer, GRPC_FAILED_PRECONDITION, reason);
}

void workload_status(struct workload *workload, const struct workload_call *call,
                     struct workload_answer *answer)
{
    struct work work = {.workload = workload, .call = call};
    *answer = (struct workload_answer){0};
    if (work_begin(&work, answer)) {
        if (work.request.annotated)
            status_of_pod(&work, answer);
        else
            status_of_user(&work, answer);
    }
    if (answer->way == WORKLOAD_REFUSE)
        counts_add(workload->counts, COUNT_REFUSED);
    workload_wishes_free(&work.wishes);
}
