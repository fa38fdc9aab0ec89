/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PullImage and ImageStatus where each pod gets its own build. */
#include "plugins/containerd/cri-proxy/pass_internal.h"

#include <stdio.h>
#include <string.h>

static void decide_pull_of(struct passing *p, const struct workload_call *call,
                           struct workload_answer *answer)
{
    struct wire_auth auth;
    struct proxy *proxy = p->proxy;
    if (wire_read_auth(call->message, call->len, &auth, NULL) < 0) {
        answer->way = WORKLOAD_REFUSE;
        answer->code = GRPC_INVALID_ARGUMENT;
        snprintf(answer->reason, sizeof(answer->reason), "ocivariant: malformed credentials");
        return;
    }
    enum slot_given slot = slots_take(&proxy->slots, p->reference->host, grpc_call_gone(p->call));
    if (slot == SLOT_TAKEN) {
        workload_pull(proxy->options.workload, call, &auth, answer);
        pass_leave_place(p, answer->silent);
    } else {
        answer->way = WORKLOAD_REFUSE;
        answer->code = slot == SLOT_SILENT ? GRPC_UNAVAILABLE : GRPC_CANCELLED;
        snprintf(answer->reason, sizeof(answer->reason),
                 "ocivariant: %.200s: the registry was silent, and is asked again later", p->text);
    }
    wire_auth_free(&auth);
    memcpy(p->fresh, answer->fresh, sizeof(p->fresh));
}

bool pass_workload(struct passing *p, bool pull, const struct decide *how,
                   const struct verdict_policy *policy, const struct passing_request *request,
                   bool *go_on)
{
    struct workload_answer answer = {0};
    if (!p->proxy->options.workload || !p->reference)
        return false;
    /* an id, "sha256:" and 64 digits, could be read as a name with a tag */
    const char *hex = strncmp(p->text, "sha256:", 7) == 0 ? p->text + 7 : p->text;
    if (strspn(hex, "0123456789abcdefABCDEF") == 64 && !hex[64])
        return false;
    const struct ocv_config *config = ocv_config_for_reference(how->config, p->reference);
    const struct workload_call call = {.decide = how,
                                       .config = config,
                                       .mode = ocv_config_workload(config),
                                       .closed = policy->closed,
                                       .path = grpc_call_path(p->call),
                                       .text = p->text,
                                       .reference = p->reference,
                                       .message = request->message,
                                       .len = request->len,
                                       .image = &request->image,
                                       .interrupted = grpc_call_gone(p->call)};
    if (call.mode == OCV_WORKLOAD_OFF)
        return false;
    if (pull)
        decide_pull_of(p, &call, &answer);
    else
        workload_status(p->proxy->options.workload, &call, &answer);
    *go_on = answer.way == WORKLOAD_AS_SENT;
    if (answer.way == WORKLOAD_EDIT) {
        *go_on = pass_edit(p, request, answer.name);
        if (!*go_on)
            grpc_call_finish(p->call, GRPC_RESOURCE_EXHAUSTED,
                             "ocivariant: the request is too long");
    } else if (answer.way == WORKLOAD_ABSENT || answer.way == WORKLOAD_ANSWER) {
        /* Answer with our own complete message. */
        uint8_t head[5];
        grpc_frame(head, answer.body.len);
        bool sent = grpc_call_send(p->call, head, sizeof(head)) == OCV_OK &&
                    (!answer.body.len ||
                     grpc_call_send(p->call, answer.body.data, answer.body.len) == OCV_OK);
        grpc_call_finish(p->call, sent ? GRPC_OK : GRPC_CANCELLED, NULL);
    } else if (answer.way != WORKLOAD_AS_SENT) {
        grpc_call_finish(p->call, answer.code, answer.reason);
    }
    ocv_buffer_free(&answer.body);
    return true;
}

void pass_workload_end(const struct passing *p, bool pulled)
{
    const struct state_pod pod = {p->fresh, NULL};
    if (*p->fresh && !pulled) /* the pod may choose again */
        state_drop_pod(p->proxy->options.state, p->text, &pod);
}
