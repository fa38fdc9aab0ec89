/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One call. Requests of three methods may get another image name; everything else is passed on
 * unchanged. */
#include "plugins/containerd/cri-proxy/pass_internal.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum method { METHOD_OTHER, METHOD_PULL, METHOD_STATUS, METHOD_REMOVE };

/* "/runtime.v1.ImageService/PullImage", or the service's name before Kubernetes 1.20. */
static enum method method_of(const char *path)
{
    static const char *const services[] = {"/runtime.v1.ImageService/",
                                           "/runtime.v1alpha2.ImageService/"};
    static const char *const names[] = {
        [METHOD_PULL] = "PullImage",
        [METHOD_STATUS] = "ImageStatus",
        [METHOD_REMOVE] = "RemoveImage",
    };
    for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
        size_t n = strlen(services[i]);
        for (int m = METHOD_PULL; m <= METHOD_REMOVE && strncmp(path, services[i], n) == 0; m++)
            if (strcmp(path + n, names[m]) == 0)
                return (enum method)m;
    }
    return METHOD_OTHER;
}

bool pass_edit(struct passing *p, const struct passing_request *request, const char *name)
{
    if (ocv_buffer_append(&p->edited, "\0\0\0\0", 5, NULL) == OCV_OK &&
        wire_replace_image(request->message, request->len, &request->image, name, &p->edited,
                           NULL) == OCV_OK)
        grpc_frame((uint8_t *)p->edited.data, p->edited.len - 5);
    else
        p->edited.len = 0;
    return p->edited.len;
}

void pass_leave_place(struct passing *p, bool silent)
{
    slots_leave(&p->proxy->slots, p->reference->host, silent && !grpc_call_cancelled(p->call));
}

/* False: it must not be pulled, and the call has been answered. */
static bool decide_image(struct passing *p, const struct decide *how,
                         const struct passing_request *request)
{
    struct wire_auth auth;
    char name[PINNED_TEXT_MAX], refused[DECIDE_REASON_MAX] = "";
    bool pinned = p->reference && pinned_by_digest(p->reference);
    bool read = pinned && wire_read_auth(request->message, request->len, &auth, NULL) == OCV_OK;
    /* of a tag the mirror or a verifier decides; what cannot be read may be a pin */
    bool needed = p->reference
                      ? p->reference->digest && ocv_config_trust_required(how->config, p->reference)
                      : ocv_config_trust_anywhere(how->config);
    if (!read && needed)
        grpc_call_finish(p->call, GRPC_FAILED_PRECONDITION,
                         "ocivariant: the request cannot be read, and its image has to be signed");
    if (!read || !p->reference)
        return !needed;
    bool decided = false, silent = false;
    enum slot_given slot =
        slots_take(&p->proxy->slots, p->reference->host, grpc_call_gone(p->call));
    if (slot == SLOT_TAKEN) {
        decided = decide_pull(how, p->text, &auth, grpc_call_gone(p->call), name, &p->known,
                              &silent, refused);
        pass_leave_place(p, silent);
    } else if (needed) {
        snprintf(refused, sizeof(refused),
                 "ocivariant: %.200s: its signature cannot be asked for: %.100s %s", p->text,
                 p->reference->host,
                 slot == SLOT_SILENT ? "is silent" : "was not asked, the call was cancelled");
    } else if (slot == SLOT_SILENT) {
        log_line("%s: passed on as it came: %s was silent", p->text, p->reference->host);
    }
    wire_auth_free(&auth);
    if (refused[0])
        grpc_call_finish(p->call, GRPC_FAILED_PRECONDITION, refused);
    else if (decided)
        pass_edit(p, request, name);
    return !refused[0];
}

/* Edit the request according to its method. Returns false where decide_image does. */
static bool inspect_call(struct passing *p)
{
    enum method method = method_of(grpc_call_path(p->call));
    struct passing_request request = {0};
    struct decide how;
    size_t at = 0, all = 0;
    enum grpc_code code;
    const uint8_t *bytes = grpc_call_request(p->call, &all);
    /* The request must have only one message. */
    if (method == METHOD_OTHER || !all || grpc_unframe(bytes, all, &at, &request.len, &code) != 1 ||
        at + request.len != all)
        return true;
    request.message = bytes + at;
    if (!wire_find_image(request.message, request.len, &request.image))
        return true;
    /* Read the name of the image: as text, and parsed. */
    const uint8_t *name = request.message + request.image.inner_at;
    size_t len = request.image.inner_len;
    bool whole = len < sizeof(p->text) && !memchr(name, 0, len);
    len = len < sizeof(p->text) ? len : sizeof(p->text) - 1;
    memcpy(p->text, name, len);
    p->text[len] = '\0';
    if (whole && ocv_reference_parse(p->text, &p->reference, NULL) < 0)
        p->reference = NULL;
    const struct verdict_policy *policy = proxy_find_policy(p->proxy, p->reference, &how);
    bool go_on = true;
    bool apart = method != METHOD_REMOVE &&
                 pass_workload(p, method == METHOD_PULL, &how, policy, &request, &go_on);
    char stored[PINNED_TEXT_MAX];
    if (!apart && method == METHOD_PULL &&
        (how.choose != OCV_CHOOSE_OFF || ocv_config_trust_anywhere(how.config)))
        go_on = decide_image(p, &how, &request);
    else if (!apart && method != METHOD_PULL && how.choose == OCV_CHOOSE_ON &&
             state_rewrite(p->proxy->options.state, p->reference, p->text, stored))
        pass_edit(p, &request, stored);
    live_policy_put(p->proxy->options.policy, policy);
    return go_on;
}

int pass_gone_fd(void *data)
{
    return grpc_call_gone_fd(((struct passing *)data)->call);
}

static int on_headers(void *data, const struct ocv_buffer *headers, bool last)
{
    struct passing *p = data;
    p->ended = last;
    if (!last)
        return grpc_call_begin(p->call, headers) < 0 ? -1 : 0;
    (void)!ocv_buffer_append(&p->trailers, headers->data, headers->len, NULL);
    return 0;
}

static int on_bytes(void *data, const uint8_t *bytes, size_t len)
{
    return grpc_call_send(((struct passing *)data)->call, bytes, len) < 0 ? -1 : 0;
}

static void on_pause(void *data)
{
    grpc_call_push(((struct passing *)data)->call);
}

static void pass_on(struct passing *p)
{
    ocv_auto_buffer headers;
    struct grpc_result result;
    struct ocv_error err = {0};
    struct grpc_passed passed = {.headers = grpc_call_headers(p->call),
                                 .on_headers = on_headers,
                                 .on_message = on_bytes,
                                 .on_pause = on_pause,
                                 .data = p};
    passed.body = grpc_call_request(p->call, &passed.len);
    ocv_buffer_init(&headers, GRPC_HEADERS_MAX + 24);
    int status = OCV_OK;
    if (p->edited.len && grpc_call_metadata(p->call, "content-length")) {
        const char *name, *value;
        char number[24];
        snprintf(number, sizeof(number), "%zu", p->edited.len);
        for (size_t at = 0; status == OCV_OK &&
                            grpc_header_next(grpc_call_headers(p->call), &at, &name, &value);) {
            value = strcmp(name, "content-length") == 0 ? number : value;
            status = grpc_header_add(&headers, name, strlen(name), value, strlen(value));
        }
    }
    if (status < 0) {
        pass_workload_end(p, false);
        grpc_call_finish(p->call, GRPC_RESOURCE_EXHAUSTED, "ocivariant: out of memory");
        return;
    }
    if (p->edited.len) {
        passed.headers = headers.len ? &headers : passed.headers;
        passed.body = p->edited.data;
        passed.len = p->edited.len;
    }
    status = grpc_client_pass(p->proxy->engine, &passed, &result, &err);
    char key[PINNED_TEXT_MAX];
    if (p->known && p->ended && result.code != GRPC_OK && pinned_key(p->reference, key))
        state_set_unchecked(p->proxy->options.state, key); /* the next pull asks a registry */
    pass_workload_end(p, status == OCV_OK && result.code == GRPC_OK);
    if (p->ended) { /* only now: the client may call again at once */
        grpc_call_end(p->call, &p->trailers);
        return;
    }
    char text[sizeof(err.message) + 32];
    snprintf(text, sizeof(text), "container engine: %s", status < 0 ? err.message : result.message);
    grpc_call_finish(p->call,
                     status == OCV_OK            ? result.code
                     : status == OCV_ERR_NETWORK ? GRPC_UNAVAILABLE
                                                 : GRPC_INTERNAL,
                     text);
}

void pass_call(void *data, struct grpc_call *call)
{
    struct passing p = {.proxy = data, .call = call};
    ocv_buffer_init(&p.edited, GRPC_MESSAGE_MAX + 5);
    ocv_buffer_init(&p.trailers, GRPC_HEADERS_MAX);
    if (inspect_call(&p))
        pass_on(&p);
    if (p.edited.data) /* it may contain a password */
        explicit_bzero(p.edited.data, p.edited.len);
    ocv_buffer_free(&p.edited);
    ocv_buffer_free(&p.trailers);
    ocv_reference_free(p.reference);
}
