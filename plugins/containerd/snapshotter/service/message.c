/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of calls: requests are decoded with limits, answers encoded. */
#include "lib/base/text.h"
#include "lib/internal/grpc/grpc.h"
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <stdlib.h>
#include <string.h>

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

/* The request, freed with protobuf_c_message_free_unpacked(…, NULL); NULL: the call has been
 * answered. */
void *snap_call_decode(struct grpc_call *call, const ProtobufCMessageDescriptor *type)
{
    struct budget budget = {.left = SNAP_DECODED_MAX};
    ProtobufCAllocator allocator = {take_memory, give_memory, &budget};
    struct ocv_error err = {0};
    size_t len = 0;
    const uint8_t *bytes = grpc_call_request(call, &len);
    if (len > SNAP_REQUEST_MAX) {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "request larger than 1 MiB");
        return NULL;
    }
    enum grpc_code code = snap_message_check(type, bytes, len, &err);
    if (code != GRPC_OK) {
        grpc_call_finish(call, code, err.message);
        return NULL;
    }
    void *message = protobuf_c_message_unpack(type, &allocator, len, bytes);
    if (!message)
        grpc_call_finish(call, budget.spent ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL,
                         "the request cannot be decoded");
    return message;
}

void snap_call_answer(struct grpc_call *call, const void *message)
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

void snap_call_answer_empty(struct grpc_call *call, enum grpc_code code,
                            const struct ocv_error *err)
{
    const Snapshots__Empty empty = SNAPSHOTS__EMPTY__INIT;
    if (code == GRPC_OK)
        snap_call_answer(call, &empty);
    else
        grpc_call_finish(call, code, err->message);
}

enum grpc_code snap_call_read_labels(Snapshots__Label *const *list, size_t n,
                                     struct ocv_buffer *out, struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    snap_labels_init(out);
    for (size_t i = 0; code == GRPC_OK && i < n; i++)
        code = snap_labels_set(out, list[i]->key, list[i]->value, err);
    return code;
}

static Snapshots__Timestamp make_timestamp(int64_t ns)
{
    Snapshots__Timestamp t = SNAPSHOTS__TIMESTAMP__INIT;
    t.seconds = ns / 1000000000;
    t.nanos = (int32_t)(ns % 1000000000);
    return t;
}

/* Borrows from `from`. */
bool snap_info_message(const struct snap_info *from, struct snap_info_message *out)
{
    const char *key, *value;
    size_t n = 0, at = 0;
    while (snap_labels_next(&from->labels, &at, &key, &value))
        n++;
    *out = (struct snap_info_message){.info = SNAPSHOTS__INFO__INIT};
    out->labels = calloc(n + 1, sizeof(*out->labels));
    out->list = calloc(n + 1, sizeof(Snapshots__Label *));
    if (!out->labels || !out->list)
        return false;
    at = 0;
    for (size_t i = 0; snap_labels_next(&from->labels, &at, &key, &value); i++) {
        snapshots__label__init(&out->labels[i]);
        out->labels[i].key = (char *)(uintptr_t)key;
        out->labels[i].value = (char *)(uintptr_t)value;
        out->list[i] = &out->labels[i];
    }
    out->created = make_timestamp(from->created);
    out->updated = make_timestamp(from->updated);
    out->info.name = from->name;
    out->info.parent = from->parent;
    out->info.kind = (Snapshots__Kind)from->kind;
    out->info.created_at = &out->created;
    out->info.updated_at = &out->updated;
    out->info.n_labels = n;
    out->info.labels = out->list;
    return true;
}

void snap_info_message_free(struct snap_info_message *message)
{
    free(message->labels);
    free(message->list);
}

/* For Stat and Update, whose answers have the same format. */
void snap_call_answer_info(struct grpc_call *call, enum grpc_code code, struct snap_info *info,
                           const struct ocv_error *err)
{
    struct snap_info_message message;
    Snapshots__StatResponse response = SNAPSHOTS__STAT_RESPONSE__INIT;
    if (code != GRPC_OK) {
        grpc_call_finish(call, code, err->message);
        return;
    }
    if (snap_info_message(info, &message)) {
        response.info = &message.info;
        snap_call_answer(call, &response);
    } else {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
    snap_info_message_free(&message);
    snap_info_free(info);
}

void snap_call_answer_mount(struct grpc_call *call, enum grpc_code code, struct snap_mount *mount,
                            const struct ocv_error *err)
{
    Snapshots__MountsResponse response = SNAPSHOTS__MOUNTS_RESPONSE__INIT;
    Snapshots__Mount message = SNAPSHOTS__MOUNT__INIT, *list[] = {&message};
    if (code != GRPC_OK) {
        grpc_call_finish(call, code, err->message);
        return;
    }
    message.type = mount->type;
    message.source = mount->source;
    message.n_options = mount->n_options;
    message.options = mount->options;
    response.n_mounts = 1;
    response.mounts = list;
    snap_call_answer(call, &response);
    snap_mount_free(mount);
}

/* Checks that protobuf-c omits: it cuts a text at its first NUL, so one name could stand for
 * another, and it accepts invalid UTF-8, which peers could not read in an answer. */

/* Nesting depth of the types: request, info, label. */
enum grpc_code snap_message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t len, struct ocv_error *err)
{
    enum grpc_code code = GRPC_OK;
    struct grpc_field found;
    size_t pos = 0;
    int more = 0;
    while (code == GRPC_OK && (more = grpc_field_next(bytes, len, &pos, &found)) == 1) {
        const ProtobufCFieldDescriptor *field =
            found.type == GRPC_BYTES ? protobuf_c_message_descriptor_get_field(type, found.number)
                                     : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_STRING) {
            const uint8_t *text = bytes + found.at;
            if (found.len && memchr(text, '\0', found.len))
                code = snap_fail(err, GRPC_INVALID_ARGUMENT, "a name or a text contains a NUL");
            for (size_t at = 0, n = 0; code == GRPC_OK && at < found.len; at += n)
                if ((n = ocv_text_character(text + at, found.len - at)) == 0)
                    code = snap_fail(err, GRPC_INTERNAL, "a name or a text is not UTF-8");
        } else if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) {
            code = snap_message_check(field->descriptor, bytes + found.at, found.len, err);
        }
    }
    return more < 0 ? snap_fail(err, GRPC_INTERNAL, "the request cannot be decoded") : code;
}
