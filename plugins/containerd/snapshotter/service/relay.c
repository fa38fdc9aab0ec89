/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes requests on unchanged, unless they must be edited. */
#include "lib/base/cleanup.h"
#include "plugins/containerd/snapshotter/service/service.h"
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MAX 4u

/* Protects our content from the garbage collector of a containerd behind us, which has no user of
 * it. */
#define ROOT_LABEL "containerd.io/gc.root"
#define ROOT_VALUE "ocivariant-snapshotter"

struct snap_relay {
    struct grpc_client *client;
    char *name, *ns;
};

OCV_DEFINE_CLEANUP(snap_relay)

/* A call to the back end on behalf of one of our calls. */
struct relayed_call {
    struct grpc_call *call;
    Snapshots__StatResponse *stat; /* set if a Stat was requested */
};

/* The back end may hang longer than our caller waits. */
static int gone_fd(void *data)
{
    const struct relayed_call *passed = data;
    return grpc_call_gone_fd(passed->call);
}

int snap_relay_new(const struct snap_relay_options *options, struct snap_relay **out,
                   struct ocv_error *err)
{
    ocv_auto(snap_relay) relay = calloc(1, sizeof(*relay));
    if (!relay || (options->name && !(relay->name = strdup(options->name))) ||
        (options->ns && !(relay->ns = strdup(options->ns))))
        return ocv_error_nomem(err);
    OCV_TRY(grpc_client_new(options->socket, &relay->client, err));
    grpc_client_set_gone(relay->client, gone_fd);
    *out = ocv_steal(&relay);
    return OCV_OK;
}

void snap_relay_free(struct snap_relay *relay)
{
    if (!relay)
        return;
    grpc_client_free(relay->client);
    free(relay->name);
    free(relay->ns);
    free(relay);
}

/* A containerd behind us has other namespaces and leases than the one that calls us. */
static size_t headers_of(const struct snap_relay *relay, const struct grpc_call *call,
                         struct grpc_header out[HEADERS_MAX])
{
    static const char *const names[HEADERS_MAX] = {"containerd-namespace", "containerd-lease",
                                                   "traceparent", "tracestate"};
    size_t n = 0;
    if (relay->ns)
        out[n++] = (struct grpc_header){names[0], relay->ns};
    for (size_t i = relay->ns ? 2 : 0; i < HEADERS_MAX; i++) {
        const char *value = grpc_call_metadata(call, names[i]);
        if (value)
            out[n++] = (struct grpc_header){names[i], value};
    }
    return n;
}

static unsigned timeout_of(const struct grpc_call *call)
{
    int64_t left = grpc_call_left(call);
    return left < 0 ? 0 : left == 0 ? 1 : left > 0x7fffffff ? 0x7fffffff : (unsigned)left;
}

static int pass_message(void *data, const uint8_t *message, size_t len)
{
    const struct relayed_call *passed = data;
    if (grpc_call_send(passed->call, message, len) < 0)
        return 1;
    grpc_call_push(passed->call); /* the next one may be far */
    return 0;
}

static enum grpc_code fail_call(struct grpc_call *call, const char *message)
{
    grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, message);
    return GRPC_RESOURCE_EXHAUSTED;
}

/* A field of bytes in a message; shorter than 128. */
static size_t put_field(uint8_t *out, unsigned number, const void *bytes, size_t len)
{
    out[0] = (uint8_t)(number << 3 | 2);
    out[1] = (uint8_t)len;
    memcpy(out + 2, bytes, len);
    return len + 2;
}

/* With bytes appended: a later value of a field replaces an earlier one, and labels are added to
 * the existing ones. Field 1 is the snapshotter's name in every request. Returns how the call
 * ended. */
static enum grpc_code pass_with_tail(struct snap_relay *relay, struct grpc_call *call,
                                     const void *request, size_t len)
{
    uint8_t tail[256], label[80], entry[96];
    const char *method = grpc_call_path(call) + sizeof(SNAP_SERVICE) - 1;
    size_t n = 0;
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, GRPC_MESSAGE_MAX);
    if (relay->name)
        n = put_field(tail, 1, relay->name, strlen(relay->name));
    if (relay->ns) {
        size_t label_len = put_field(label, 1, ROOT_LABEL, sizeof(ROOT_LABEL) - 1);
        label_len += put_field(label + label_len, 2, ROOT_VALUE, sizeof(ROOT_VALUE) - 1);
        if (strcmp(method, "Prepare") == 0 || strcmp(method, "View") == 0 ||
            strcmp(method, "Commit") == 0) {
            n += put_field(tail + n, 4, label, label_len);
        } else if (strcmp(method, "Update") == 0) {
            size_t entry_len = put_field(entry, 6, label, label_len); /* of the info */
            n += put_field(tail + n, 2, entry, entry_len);
        }
    }
    if (n && ((len && ocv_buffer_append(&bytes, request, len, NULL) < 0) ||
              ocv_buffer_append(&bytes, tail, n, NULL) < 0))
        return fail_call(call, "request too large");

    struct grpc_header headers[HEADERS_MAX];
    struct grpc_result result;
    struct relayed_call passed = {.call = call};
    struct ocv_error err = {0};
    int status = grpc_client_call(relay->client, grpc_call_path(call), headers,
                                  headers_of(relay, call, headers), n ? bytes.data : request,
                                  n ? bytes.len : len, timeout_of(call), pass_message, &passed,
                                  &result, &err);
    if (status < 0)
        result.code = grpc_call_left(call) == 0 ? GRPC_DEADLINE_EXCEEDED : GRPC_UNAVAILABLE;
    const char *text = status < 0 ? err.message : result.message[0] ? result.message : NULL;
    grpc_call_finish(call, result.code, text);
    return result.code;
}

static enum grpc_code pass_packed(struct snap_relay *relay, struct grpc_call *call,
                                  const void *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(len + 1);
    if (!bytes)
        return fail_call(call, "out of memory");
    protobuf_c_message_pack(message, bytes);
    enum grpc_code code = pass_with_tail(relay, call, bytes, len);
    free(bytes);
    return code;
}

static int take_stat(void *data, const uint8_t *message, size_t len)
{
    struct relayed_call *passed = data;
    if (!passed->stat)
        passed->stat = snapshots__stat_response__unpack(NULL, len, message);
    return 0;
}

static Snapshots__StatResponse *stat_of(struct snap_relay *relay, struct grpc_call *call,
                                        Snapshots__CommitRequest *commit)
{
    struct grpc_header headers[HEADERS_MAX];
    struct grpc_result result;
    struct relayed_call passed = {.call = call};
    Snapshots__KeyRequest request = SNAPSHOTS__KEY_REQUEST__INIT;
    request.snapshotter = relay->name ? relay->name : commit->snapshotter;
    request.key = commit->key;
    size_t len = snapshots__key_request__get_packed_size(&request);
    uint8_t *bytes = malloc(len + 1);
    if (!bytes)
        return NULL;
    snapshots__key_request__pack(&request, bytes);
    int status = grpc_client_call(relay->client, SNAP_SERVICE "Stat", headers,
                                  headers_of(relay, call, headers), bytes, len, timeout_of(call),
                                  take_stat, &passed, &result, NULL);
    free(bytes);
    (void)status; /* on failure the label is lost, but the commit succeeds */
    return passed.stat;
}

static enum grpc_code pass_commit(struct snap_relay *relay, struct grpc_call *call,
                                  const uint8_t *bytes, size_t len)
{
    Snapshots__Label **memory = NULL;
    Snapshots__CommitRequest *request = snapshots__commit_request__unpack(NULL, len, bytes);
    Snapshots__StatResponse *stat = request ? stat_of(relay, call, request) : NULL;
    Snapshots__CommitRequest changed = SNAPSHOTS__COMMIT_REQUEST__INIT;
    if (request)
        changed = *request;
    const Snapshots__Info *info = stat ? stat->info : NULL;
    size_t n = changed.n_labels;
    if (info && (memory = malloc((n + info->n_labels + 1) * sizeof(*memory)))) {
        if (n)
            memcpy(memory, changed.labels, n * sizeof(*memory));
        for (size_t i = 0; i < info->n_labels; i++)
            if (strncmp(info->labels[i]->key, SNAP_LABEL_OURS, sizeof(SNAP_LABEL_OURS) - 1) == 0)
                memory[n++] = info->labels[i];
    }
    bool more = n > changed.n_labels;
    if (more) {
        changed.labels = memory;
        changed.n_labels = n;
    }
    enum grpc_code code =
        more ? pass_packed(relay, call, &changed) : pass_with_tail(relay, call, bytes, len);
    free(memory);
    if (stat)
        snapshots__stat_response__free_unpacked(stat, NULL);
    if (request)
        snapshots__commit_request__free_unpacked(request, NULL);
    return code;
}

enum grpc_code snap_relay_pass(struct snap_relay *relay, struct grpc_call *call,
                               const struct ocv_buffer *labels, bool keep)
{
    size_t len = 0, n = 0, at = 0;
    const uint8_t *bytes = grpc_call_request(call, &len);
    if (!labels) {
        keep =
            keep && len <= SNAP_REQUEST_MAX &&
            snap_message_check(&snapshots__commit_request__descriptor, bytes, len, NULL) == GRPC_OK;
        return keep ? pass_commit(relay, call, bytes, len)
                    : pass_with_tail(relay, call, bytes, len);
    }
    Snapshots__PrepareRequest *request = snapshots__prepare_request__unpack(NULL, len, bytes);
    /* labels as messages, in a single allocation */
    const char *key, *value;
    while (snap_labels_next(labels, &at, &key, &value))
        n++;
    ocv_auto_free Snapshots__Label **list = malloc(n * (sizeof(*list) + sizeof(**list)) + 1);
    Snapshots__Label *items = list ? (Snapshots__Label *)(list + n) : NULL;
    at = 0;
    for (size_t i = 0; list && snap_labels_next(labels, &at, &key, &value); i++) {
        snapshots__label__init(&items[i]);
        items[i].key = (char *)(uintptr_t)key;
        items[i].value = (char *)(uintptr_t)value;
        list[i] = &items[i];
    }
    enum grpc_code code;
    if (request && list) {
        Snapshots__PrepareRequest changed = *request; /* keeps fields that are not known here */
        changed.labels = list;
        changed.n_labels = n;
        code = pass_packed(relay, call, &changed);
    } else {
        code = fail_call(call, "out of memory");
    }
    if (request)
        snapshots__prepare_request__free_unpacked(request, NULL);
    return code;
}
