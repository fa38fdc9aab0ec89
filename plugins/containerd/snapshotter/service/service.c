/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls and their handlers. */
#include "plugins/containerd/snapshotter/service/service.h"
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <string.h>

/* Prepare and View. */
static void serve_create(struct snap_service *s, struct grpc_call *call, const void *message)
{
    enum snap_kind kind =
        strcmp(grpc_call_path(call), SNAP_SERVICE "View") == 0 ? SNAP_VIEW : SNAP_ACTIVE;
    struct ocv_error err = {0};
    struct snap_mount mount = {0};
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    const Snapshots__PrepareRequest *request = message;
    enum grpc_code code = snap_call_read_labels(request->labels, request->n_labels, &labels, &err);
    if (code == GRPC_OK && kind == SNAP_ACTIVE && s->fit)
        code = snap_fit_prepare(s->fit, grpc_call_metadata(call, "containerd-namespace"),
                                request->parent, &labels, &err);
    if (code != GRPC_OK) {
        grpc_call_finish(call, code, err.message);
    } else if (s->relay) {
        snap_relay_pass(s->relay, call, &labels, false);
    } else {
        code = snap_overlay_create(s->overlay, kind, request->key, request->parent, &labels, &mount,
                                   &err);
        snap_call_answer_mount(call, code, &mount, &err);
    }
}

static void serve_mounts(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    struct snap_mount mount = {0};
    const Snapshots__KeyRequest *request = message;
    enum grpc_code code = snap_overlay_mounts(s->overlay, request->key, &mount, &err);
    snap_call_answer_mount(call, code, &mount, &err);
}

static void serve_commit(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    const Snapshots__CommitRequest *request = message;
    enum grpc_code code = snap_call_read_labels(request->labels, request->n_labels, &labels, &err);
    if (code == GRPC_OK)
        code = snap_overlay_commit(s->overlay, request->name, request->key, request->parent,
                                   &labels, call, &err);
    snap_call_answer_empty(call, code, &err);
}

static void serve_remove(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    const Snapshots__KeyRequest *request = message;
    enum grpc_code code = s->relay ? snap_relay_pass(s->relay, call, NULL, false)
                                   : snap_overlay_remove(s->overlay, request->key, &err);
    if (s->fit && (code == GRPC_OK || code == GRPC_NOT_FOUND))
        snap_fit_removed(s->fit, request->key);
    if (!s->relay)
        snap_call_answer_empty(call, code, &err);
}

static void serve_stat(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    struct snap_info info;
    const Snapshots__KeyRequest *request = message;
    enum grpc_code code = snap_meta_stat(s->meta, request->key, &info, &err);
    snap_call_answer_info(call, code, &info, &err);
}

static void serve_update(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    struct snap_info info;
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    const Snapshots__UpdateRequest *request = message;
    enum grpc_code code;
    if (!request->info)
        code = snap_fail(&err, GRPC_INVALID_ARGUMENT, "no info to update");
    else
        code = snap_call_read_labels(request->info->labels, request->info->n_labels, &labels, &err);
    if (request->info && code == GRPC_OK)
        code =
            snap_meta_update(s->meta, request->info->name, &labels,
                             request->update_mask ? request->update_mask->paths : NULL,
                             request->update_mask ? request->update_mask->n_paths : 0, &info, &err);
    snap_call_answer_info(call, code, &info, &err);
}

static void serve_usage(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    struct snap_usage usage;
    Snapshots__UsageResponse response = SNAPSHOTS__USAGE_RESPONSE__INIT;
    const Snapshots__KeyRequest *request = message;
    enum grpc_code code = snap_overlay_usage(s->overlay, request->key, call, &usage, &err);
    response.size = usage.size;
    response.inodes = usage.inodes;
    if (code == GRPC_OK)
        snap_call_answer(call, &response);
    else
        grpc_call_finish(call, code, err.message);
}

static void serve_cleanup(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    (void)message;
    enum grpc_code code = snap_overlay_cleanup(s->overlay, &err);
    snap_call_answer_empty(call, code, &err);
}

/* containerd's namespaces: letters and digits, joined by one of ". _ -", at most 76 bytes. */
static bool namespace_valid(const char *text)
{
    size_t len = strlen(text);
    bool joint = true;
    for (size_t i = 0; i < len; i++) {
        bool plain = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
                     (text[i] >= '0' && text[i] <= '9');
        if (!plain && (joint || !strchr("._-", text[i])))
            return false;
        joint = !plain;
    }
    return len <= 76 && !joint;
}

void snap_service_handle(void *data, struct grpc_call *call)
{
    static const struct {
        const char *method;
        void (*serve)(struct snap_service *s, struct grpc_call *call, const void *message);
        const ProtobufCMessageDescriptor *type; /* NULL: the request says nothing */
        bool relayed;                           /* the function passes it on itself */
    } methods[] = {{"Prepare", serve_create, &snapshots__prepare_request__descriptor, true},
                   {"View", serve_create, &snapshots__prepare_request__descriptor, false},
                   {"Mounts", serve_mounts, &snapshots__key_request__descriptor, false},
                   {"Commit", serve_commit, &snapshots__commit_request__descriptor, false},
                   {"Remove", serve_remove, &snapshots__key_request__descriptor, true},
                   {"Stat", serve_stat, &snapshots__key_request__descriptor, false},
                   {"Update", serve_update, &snapshots__update_request__descriptor, false},
                   {"List", snap_service_list, &snapshots__list_request__descriptor, false},
                   {"Usage", serve_usage, &snapshots__key_request__descriptor, false},
                   {"Cleanup", serve_cleanup, NULL, false}};
    struct snap_service *s = data;
    const char *path = grpc_call_path(call), *ns = grpc_call_metadata(call, "containerd-namespace");
    const char *method = path + sizeof(SNAP_SERVICE) - 1;
    bool ours = strncmp(path, SNAP_SERVICE, sizeof(SNAP_SERVICE) - 1) == 0;
    if (ns && !namespace_valid(ns)) {
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "malformed containerd-namespace");
        return;
    }
    for (size_t i = 0; ours && i < sizeof(methods) / sizeof(*methods); i++) {
        if (strcmp(methods[i].method, method) == 0 && (!s->relay || methods[i].relayed)) {
            void *message = methods[i].type ? snap_call_decode(call, methods[i].type) : NULL;
            if (message || !methods[i].type)
                methods[i].serve(s, call, message);
            if (message)
                protobuf_c_message_free_unpacked(message, NULL);
            return;
        }
    }
    if (ours && s->relay) /* including methods that this version does not know */
        snap_relay_pass(s->relay, call, NULL, strcmp(method, "Commit") == 0);
    else
        grpc_call_finish(call, GRPC_UNIMPLEMENTED, "unknown method");
}
