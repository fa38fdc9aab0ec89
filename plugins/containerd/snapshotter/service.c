/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "service.h"

#include "snapshots.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory for decoding: a small message may ask for a lot ------------------------------------
 */

struct budget {
    size_t left;
    bool spent;
};

static void *take_memory(void *data, size_t size)
{
    struct budget *budget = data;
    if (size > budget->left) {
        budget->spent = true;
        return NULL;
    }
    budget->left -= size;
    return malloc(size);
}

static void give_memory(void *data, void *memory)
{
    (void)data;
    free(memory);
}

/* The request, to be freed with protobuf_c_message_free_unpacked(…, NULL); NULL: answered. */
static void *decode(struct grpc_call *call, const ProtobufCMessageDescriptor *type)
{
    struct budget budget = {.left = SNAP_DECODED_MAX};
    ProtobufCAllocator allocator = {take_memory, give_memory, &budget};
    size_t len = 0;
    const uint8_t *bytes = grpc_call_request(call, &len);
    if (len > SNAP_REQUEST_MAX) {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "request larger than 1 MiB");
        return NULL;
    }
    void *message = protobuf_c_message_unpack(type, &allocator, len, bytes);
    if (!message)
        grpc_call_finish(call, budget.spent ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL,
                         "the request cannot be decoded");
    return message;
}

static void release(void *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}

static void answer(struct grpc_call *call, const void *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(len + 1);
    if (!bytes) {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    protobuf_c_message_pack(message, bytes);
    if (grpc_call_send(call, bytes, len) == OCV_OK)
        grpc_call_finish(call, GRPC_OK, NULL);
    free(bytes);
}

static void answer_empty(struct grpc_call *call)
{
    const Snapshots__Empty empty = SNAPSHOTS__EMPTY__INIT;
    answer(call, &empty);
}

static void refuse(struct grpc_call *call, enum grpc_code code, const struct ocv_error *err)
{
    grpc_call_finish(call, code, err->message);
}

/* ---- conversions -------------------------------------------------------------------------------
 */

static enum grpc_code read_labels(Snapshots__Label *const *list, size_t n, struct ocv_buffer *out,
                                  struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    snap_labels_init(out);
    for (size_t i = 0; code == GRPC_OK && i < n; i++)
        code = snap_labels_set(out, list[i]->key, list[i]->value, err);
    return code;
}

/* A message and the memory of its parts. */
struct info_message {
    Snapshots__Info info;
    Snapshots__Timestamp created, updated;
    Snapshots__Label *labels, **list;
};

static char *borrowed(const char *text)
{
    return (char *)(uintptr_t)text;
}

static Snapshots__Timestamp timestamp(int64_t ns)
{
    Snapshots__Timestamp t = SNAPSHOTS__TIMESTAMP__INIT;
    t.seconds = ns / 1000000000;
    t.nanos = (int32_t)(ns % 1000000000);
    return t;
}

/* Borrows from `from`. */
static bool make_info(const struct snap_info *from, struct info_message *out)
{
    const char *key, *value;
    size_t n = 0, at = 0;
    while (snap_labels_next(&from->labels, &at, &key, &value))
        n++;
    *out = (struct info_message){.info = SNAPSHOTS__INFO__INIT};
    out->labels = calloc(n + 1, sizeof(*out->labels));
    out->list = calloc(n + 1, sizeof(Snapshots__Label *));
    if (!out->labels || !out->list)
        return false;
    at = 0;
    for (size_t i = 0; snap_labels_next(&from->labels, &at, &key, &value); i++) {
        snapshots__label__init(&out->labels[i]);
        out->labels[i].key = borrowed(key);
        out->labels[i].value = borrowed(value);
        out->list[i] = &out->labels[i];
    }
    out->created = timestamp(from->created);
    out->updated = timestamp(from->updated);
    out->info.name = from->name;
    out->info.parent = from->parent;
    out->info.kind = (Snapshots__Kind)from->kind;
    out->info.created_at = &out->created;
    out->info.updated_at = &out->updated;
    out->info.n_labels = n;
    out->info.labels = out->list;
    return true;
}

static void free_info(struct info_message *message)
{
    free(message->labels);
    free(message->list);
}

/* Answers of Stat and Update have the same shape. */
static void answer_info(struct grpc_call *call, enum grpc_code code, struct snap_info *info,
                        const struct ocv_error *err)
{
    struct info_message message;
    Snapshots__StatResponse response = SNAPSHOTS__STAT_RESPONSE__INIT;
    if (code != GRPC_OK) {
        refuse(call, code, err);
        return;
    }
    if (make_info(info, &message)) {
        response.info = &message.info;
        answer(call, &response);
    } else {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
    free_info(&message);
    snap_info_free(info);
}

static void answer_mount(struct grpc_call *call, enum grpc_code code, struct snap_mount *mount,
                         const struct ocv_error *err)
{
    Snapshots__MountsResponse response = SNAPSHOTS__MOUNTS_RESPONSE__INIT;
    Snapshots__Mount message = SNAPSHOTS__MOUNT__INIT, *list[] = {&message};
    if (code != GRPC_OK) {
        refuse(call, code, err);
        return;
    }
    message.type = mount->type;
    message.source = mount->source;
    message.n_options = mount->n_options;
    message.options = mount->options;
    response.n_mounts = 1;
    response.mounts = list;
    answer(call, &response);
    snap_mount_free(mount);
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static void serve_create(struct snap_service *s, struct grpc_call *call, enum snap_kind kind)
{
    struct ocv_error err = {0};
    struct snap_mount mount = {0};
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    Snapshots__PrepareRequest *request = decode(call, &snapshots__prepare_request__descriptor);
    if (!request)
        return;
    enum grpc_code code = read_labels(request->labels, request->n_labels, &labels, &err);
    if (code == GRPC_OK && kind == SNAP_ACTIVE && s->judge)
        code = snap_judge_prepare(s->judge, grpc_call_metadata(call, "containerd-namespace"),
                                  request->parent, &labels, &err);
    if (code != GRPC_OK) {
        refuse(call, code, &err);
    } else if (s->relay) {
        snap_relay_pass(s->relay, call, &labels, false);
    } else {
        code = snap_overlay_create(s->overlay, kind, request->key, request->parent, &labels, &mount,
                                   &err);
        answer_mount(call, code, &mount, &err);
    }
    release(request);
}

static void serve_prepare(struct snap_service *s, struct grpc_call *call)
{
    serve_create(s, call, SNAP_ACTIVE);
}

static void serve_view(struct snap_service *s, struct grpc_call *call)
{
    serve_create(s, call, SNAP_VIEW);
}

static void serve_mounts(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    struct snap_mount mount = {0};
    Snapshots__KeyRequest *request = decode(call, &snapshots__key_request__descriptor);
    if (!request)
        return;
    enum grpc_code code = snap_overlay_mounts(s->overlay, request->key, &mount, &err);
    answer_mount(call, code, &mount, &err);
    release(request);
}

static void serve_commit(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    Snapshots__CommitRequest *request = decode(call, &snapshots__commit_request__descriptor);
    if (!request)
        return;
    enum grpc_code code = read_labels(request->labels, request->n_labels, &labels, &err);
    if (code == GRPC_OK)
        code = snap_overlay_commit(s->overlay, request->name, request->key, request->parent,
                                   &labels, call, &err);
    if (code == GRPC_OK)
        answer_empty(call);
    else
        refuse(call, code, &err);
    release(request);
}

static void serve_remove(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    Snapshots__KeyRequest *request = decode(call, &snapshots__key_request__descriptor);
    if (!request)
        return;
    if (s->relay) {
        snap_relay_pass(s->relay, call, NULL, false);
    } else {
        enum grpc_code code = snap_overlay_remove(s->overlay, request->key, &err);
        if (code == GRPC_OK)
            answer_empty(call);
        else
            refuse(call, code, &err);
    }
    if (s->judge)
        snap_judge_removed(s->judge, request->key);
    release(request);
}

static void serve_stat(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    struct snap_info info;
    Snapshots__KeyRequest *request = decode(call, &snapshots__key_request__descriptor);
    if (!request)
        return;
    enum grpc_code code = snap_meta_stat(s->meta, request->key, &info, &err);
    answer_info(call, code, &info, &err);
    release(request);
}

static void serve_update(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    struct snap_info info;
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    Snapshots__UpdateRequest *request = decode(call, &snapshots__update_request__descriptor);
    if (!request)
        return;
    enum grpc_code code;
    if (!request->info)
        code = snap_fail(&err, GRPC_INVALID_ARGUMENT, "no info to update");
    else
        code = read_labels(request->info->labels, request->info->n_labels, &labels, &err);
    if (request->info && code == GRPC_OK)
        code =
            snap_meta_update(s->meta, request->info->name, &labels,
                             request->update_mask ? request->update_mask->paths : NULL,
                             request->update_mask ? request->update_mask->n_paths : 0, &info, &err);
    answer_info(call, code, &info, &err);
    release(request);
}

static void serve_usage(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    struct snap_usage usage;
    Snapshots__UsageResponse response = SNAPSHOTS__USAGE_RESPONSE__INIT;
    Snapshots__KeyRequest *request = decode(call, &snapshots__key_request__descriptor);
    if (!request)
        return;
    enum grpc_code code = snap_overlay_usage(s->overlay, request->key, call, &usage, &err);
    response.size = usage.size;
    response.inodes = usage.inodes;
    if (code == GRPC_OK)
        answer(call, &response);
    else
        refuse(call, code, &err);
    release(request);
}

static void serve_cleanup(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    enum grpc_code code = snap_overlay_cleanup(s->overlay, &err);
    if (code == GRPC_OK)
        answer_empty(call);
    else
        refuse(call, code, &err);
}

/* ---- List --------------------------------------------------------------------------------------
 */

/* Infos of one message, packed as they come: field 1 of ListResponse, repeated. */
struct listing {
    const struct snap_filter *filter;
    struct ocv_buffer bytes;
    size_t n;
    int64_t last;
    bool failed, endless;
};

static int list_one(void *data, const struct snap_info *info)
{
    struct listing *l = data;
    struct info_message message;
    uint8_t head[11] = {0x0a};
    size_t head_len = 1;
    l->last = info->id;
    int match = snap_filter_match(l->filter, info);
    l->endless = match < 0;
    if (match <= 0)
        return l->endless ? 1 : 0;
    uint8_t *body = NULL;
    size_t len = 0;
    if (make_info(info, &message)) {
        len = snapshots__info__get_packed_size(&message.info);
        body = malloc(len + 1);
    }
    if (body)
        snapshots__info__pack(&message.info, body);
    free_info(&message);
    for (size_t left = len; left || head_len == 1; left >>= 7)
        head[head_len++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (!body || ocv_buffer_append(&l->bytes, head, head_len, NULL) < 0 ||
        ocv_buffer_append(&l->bytes, body, len, NULL) < 0)
        l->failed = true;
    free(body);
    l->n++;
    return l->failed ? 1 : 0;
}

static enum grpc_code send_page(struct grpc_call *call, struct listing *l)
{
    int status = grpc_call_send(call, l->bytes.data, l->bytes.len);
    l->bytes.len = 0;
    l->n = 0;
    return status < 0 ? GRPC_CANCELLED : GRPC_OK;
}

/* The lock is not held while a slow peer takes its time: pages by id, which never changes. */
static enum grpc_code list_all(struct snap_service *s, struct grpc_call *call, struct listing *l,
                               struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    size_t rows = SNAP_PAGE;
    while (code == GRPC_OK && rows == SNAP_PAGE) {
        code = snap_meta_page(s->meta, l->last, &rows, list_one, l, err);
        if (code == GRPC_OK && l->failed)
            code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        if (code == GRPC_OK && l->endless)
            code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "a regular expression takes too long");
        if (code == GRPC_OK && grpc_call_cancelled(call))
            code = snap_fail(err, GRPC_CANCELLED, "context canceled");
        if (code == GRPC_OK && l->n)
            code = send_page(call, l);
    }
    return code;
}

static void serve_list(struct snap_service *s, struct grpc_call *call)
{
    struct ocv_error err = {0};
    struct snap_filter *filter = NULL;
    Snapshots__ListRequest *request = decode(call, &snapshots__list_request__descriptor);
    if (!request)
        return;
    struct listing l = {0};
    ocv_buffer_init(&l.bytes, GRPC_MESSAGE_MAX);
    enum grpc_code code = snap_filter_new(request->filters, request->n_filters, &filter, &err);
    l.filter = filter;
    if (code == GRPC_OK)
        code = list_all(s, call, &l, &err);
    grpc_call_finish(call, code, code == GRPC_OK ? NULL : err.message);
    ocv_buffer_free(&l.bytes);
    snap_filter_free(filter);
    release(request);
}

/* ---- dispatch ----------------------------------------------------------------------------------
 */

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
        void (*serve)(struct snap_service *s, struct grpc_call *call);
        bool relayed; /* by the function itself */
    } methods[] = {{"Prepare", serve_prepare, true}, {"View", serve_view, false},
                   {"Mounts", serve_mounts, false},  {"Commit", serve_commit, false},
                   {"Remove", serve_remove, true},   {"Stat", serve_stat, false},
                   {"Update", serve_update, false},  {"List", serve_list, false},
                   {"Usage", serve_usage, false},    {"Cleanup", serve_cleanup, false}};
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
            methods[i].serve(s, call);
            return;
        }
    }
    if (ours && s->relay) /* also what this version has not heard of */
        snap_relay_pass(s->relay, call, NULL, strcmp(method, "Commit") == 0);
    else
        grpc_call_finish(call, GRPC_UNIMPLEMENTED, "unknown method");
}
