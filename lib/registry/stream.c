/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Requests that a proxy passes on. Documents are small and checked before the caller sees a byte;
 * blobs flow through (stream_blob.c). */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPT                                                                        \
    OCV_MEDIA_TYPE_INDEX ", " OCV_MEDIA_TYPE_DOCKER_LIST ", " OCV_MEDIA_TYPE_MANIFEST \
                         ", " OCV_MEDIA_TYPE_DOCKER_MANIFEST

int ocv_stream_stopped(struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped");
}

void ocv_stream_fill(struct ocv_stream_head *head, const struct ocv_response *r)
{
    *head = (struct ocv_stream_head){.status = r->status,
                                     .next = r->next,
                                     .size = r->encoded ? -1 : r->content_length,
                                     .range_start = r->range_start,
                                     .range_end = r->range_end,
                                     .range_total = r->range_total};
    memcpy(head->media_type, r->content_type, sizeof(head->media_type));
    memcpy(head->digest, r->digest, sizeof(head->digest));
    memcpy(head->etag, r->etag, sizeof(head->etag));
    memcpy(head->filters, r->filters, sizeof(head->filters));
}

int ocv_stream_give_head(struct ocv_streaming *s, const struct ocv_stream_head *head,
                         struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    s->told = true;
    return q->head && q->head(q->data, head) ? ocv_stream_stopped(err) : OCV_OK;
}

/* Also for other 2xx statuses. */
static int take_whole(struct ocv_streaming *s, struct ocv_stream_head *head, struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    const struct ocv_buffer *body = &s->exchange.transfer.body;
    const char *bytes = body->data ? body->data : "";
    if (head->status == 206)
        return ocv_error_set(err, OCV_ERR_NETWORK,
                             "%s: a part was sent though the whole was requested", s->what);
    head->status = 200;
    if (!strcmp(s->exchange.method, "HEAD"))
        return OCV_OK;
    head->size = (int64_t)body->len;
    if (q->kind != OCV_STREAM_MANIFEST)
        return OCV_OK;
    if (!body->len)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: an empty manifest", s->what);
    if (strchr(q->object, ':'))
        snprintf(head->digest, sizeof(head->digest), "%s", q->object);
    int status = ocv_digest_known(head->digest)
                     ? ocv_digest_check(head->digest, bytes, body->len, err)
                     : ocv_digest_bytes(bytes, body->len, head->digest, err);
    return status < 0 ? ocv_error_prefix(err, "%s", s->what) : OCV_OK;
}

static int run_document(struct ocv_streaming *s, struct ocv_error *err)
{
    struct ocv_exchange *x = &s->exchange;
    const struct ocv_stream *q = s->request;
    struct ocv_error local = {0};
    struct ocv_stream_head head;
    x->kind = q->kind == OCV_STREAM_MANIFEST ? "manifest" : "list";
    x->body_max = OCV_MANIFEST_MAX;
    x->has_get = q->head_only && q->kind == OCV_STREAM_MANIFEST;
    int status = ocv_exchange_run(x, &local);
    if (status < 0 && x->has_get && ocv_head_refused(x, &local)) {
        /* the head of a GET, which is checked as any document */
        const struct ocv_exchange asked = *x;
        ocv_exchange_free(x);
        *x = (struct ocv_exchange){.registry = asked.registry,
                                   .host = asked.host,
                                   .what = asked.what,
                                   .kind = asked.kind,
                                   .method = "GET",
                                   .path = asked.path,
                                   .accept = asked.accept,
                                   .repository = asked.repository,
                                   .if_none_match = asked.if_none_match,
                                   .body_max = asked.body_max};
        local = (struct ocv_error){0};
        status = ocv_exchange_run(x, &local);
    }
    ocv_stream_fill(&head, &x->transfer.response);
    bool unchanged = q->if_none_match && local.http_status == 304;
    if (unchanged)
        status = OCV_OK;
    else if (status == OCV_OK)
        status = take_whole(s, &head, &local);
    if (status == OCV_OK)
        status = ocv_stream_give_head(s, &head, &local);
    const struct ocv_buffer *body = &x->transfer.body;
    if (status == OCV_OK && !unchanged && !q->head_only && body->len && q->body &&
        q->body(q->data, body->data, body->len))
        status = ocv_stream_stopped(&local);
    if (status < 0 && err)
        *err = local;
    return status;
}

static int set_up(struct ocv_streaming *s, struct ocv_registry *registry, struct ocv_error *err)
{
    static const char *const kinds[] = {[OCV_STREAM_MANIFEST] = "manifests",
                                        [OCV_STREAM_BLOB] = "blobs",
                                        [OCV_STREAM_TAGS] = "tags",
                                        [OCV_STREAM_REFERRERS] = "referrers"};
    const struct ocv_stream *q = s->request;
    struct ocv_exchange *x = &s->exchange;
    bool list = q->kind == OCV_STREAM_TAGS;
    if (!list && !q->object)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: neither a tag nor a digest is given",
                             q->reference->name);
    const char *object = list ? "list" : q->object;
    const char *sign = strchr(object, ':') ? "@" : ":";
    if (*sign == '@' && !ocv_digest_known(object))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s@%s: unknown digest algorithm",
                             q->reference->name, object);
    if (asprintf(&s->path, "/v2/%s/%s/%s%s%s", q->reference->repository, kinds[q->kind], object,
                 q->query && *q->query ? "?" : "", q->query ? q->query : "") < 0)
        s->path = NULL;
    if (asprintf(&s->what, "%s%s%s", q->reference->name, list ? "" : sign,
                 list ? ": list of tags" : object) < 0)
        s->what = NULL;
    if (!s->path || !s->what)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_registry_host_get(registry, q->reference->host, &x->host, err));
    x->registry = registry;
    x->what = s->what;
    x->path = s->path;
    x->method = q->head_only ? "HEAD" : "GET";
    x->repository = q->reference->repository;
    x->body_max = OCV_ERROR_BODY_MAX;
    x->range = q->range;
    x->if_none_match = q->if_none_match;
    if (q->accept || q->kind == OCV_STREAM_MANIFEST)
        x->accept = q->accept ? q->accept : ACCEPT;
    return OCV_OK;
}

int ocv_registry_stream(struct ocv_registry *registry, const struct ocv_stream *request,
                        struct ocv_error *err)
{
    struct ocv_streaming s = {.request = request, .size = -1, .first = -1, .total = -1};
    int status = set_up(&s, registry, err);
    if (status == OCV_OK)
        status =
            request->kind == OCV_STREAM_BLOB ? ocv_stream_blob(&s, err) : run_document(&s, err);
    if (s.exchange.registry)
        ocv_exchange_free(&s.exchange);
    ocv_hasher_free(s.hasher);
    free(s.block);
    free(s.path);
    free(s.what);
    return status;
}
