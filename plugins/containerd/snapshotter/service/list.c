/* SPDX-License-Identifier: GPL-3.0-or-later */
/* List: infos in messages of up to SNAP_PAGE, as containerd sends them. */
#include "plugins/containerd/snapshotter/service/service.h"
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <stdlib.h>

/* Infos of one message, packed as they arrive: field 1 of ListResponse, repeated. */
struct info_list {
    const struct snap_filter *filter;
    struct ocv_buffer bytes;
    size_t n;
    int64_t last;
    bool failed;
};

static int list_one(void *data, const struct snap_info *info)
{
    struct info_list *l = data;
    struct snap_info_message message;
    uint8_t head[11] = {0x0a};
    size_t head_len = 1;
    l->last = info->id;
    if (info->damaged || !snap_filter_match(l->filter, info))
        return 0;
    uint8_t *body = NULL;
    size_t len = 0;
    if (snap_info_message(info, &message)) {
        len = snapshots__info__get_packed_size(&message.info);
        body = malloc(len + 1);
    }
    if (body)
        snapshots__info__pack(&message.info, body);
    snap_info_message_free(&message);
    for (size_t left = len; left || head_len == 1; left >>= 7)
        head[head_len++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (!body || ocv_buffer_append(&l->bytes, head, head_len, NULL) < 0 ||
        ocv_buffer_append(&l->bytes, body, len, NULL) < 0)
        l->failed = true;
    free(body);
    l->n++;
    return l->failed ? 1 : 0;
}

void snap_service_list(struct snap_service *s, struct grpc_call *call, const void *message)
{
    struct ocv_error err = {0};
    struct snap_filter *filter = NULL;
    const Snapshots__ListRequest *request = message;
    struct info_list l = {0};
    ocv_buffer_init(&l.bytes, GRPC_MESSAGE_MAX);
    enum grpc_code code = snap_filter_new(request->filters, request->n_filters, &filter, &err);
    l.filter = filter;
    /* Paged by id, which never changes, so that the lock is not held while a slow peer reads. */
    for (size_t rows = SNAP_PAGE; code == GRPC_OK && rows == SNAP_PAGE;) {
        code = snap_meta_page(s->meta, l.last, &rows, list_one, &l, &err);
        if (code == GRPC_OK && l.failed)
            code = snap_fail(&err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        if (code == GRPC_OK && grpc_call_cancelled(call))
            code = snap_fail(&err, GRPC_CANCELLED, "context canceled");
        if (code == GRPC_OK && l.n) {
            int status = grpc_call_send(call, l.bytes.data, l.bytes.len);
            l.bytes.len = 0;
            l.n = 0;
            code = status < 0 ? GRPC_CANCELLED : GRPC_OK;
        }
    }
    grpc_call_finish(call, code, code == GRPC_OK ? NULL : err.message);
    ocv_buffer_free(&l.bytes);
    snap_filter_free(filter);
}
