/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Requests that a proxy passes on. Documents are small and checked before the caller sees a byte;
 * blobs flow through, hashed on the way, and a broken transfer goes on where it broke off as long
 * as the bytes that were passed stay the same object's. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPT                                                                        \
    OCV_MEDIA_TYPE_INDEX ", " OCV_MEDIA_TYPE_DOCKER_LIST ", " OCV_MEDIA_TYPE_MANIFEST \
                         ", " OCV_MEDIA_TYPE_DOCKER_MANIFEST

struct stream {
    struct ocv_exchange exchange;
    const struct ocv_stream *request;
    struct ocv_hasher *hasher; /* of a whole blob */
    char *path, *what;
    bool told;      /* the head was given to the caller */
    int64_t size;   /* of the whole blob, -1 while unknown */
    int64_t offset; /* bytes given to the caller */
    int64_t skip;   /* bytes that come again, from a server without Range */
};

static int stopped(struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped");
}

static void fill(struct ocv_stream_head *head, const struct ocv_response *r)
{
    *head = (struct ocv_stream_head){.status = r->status,
                                     .link = r->link,
                                     .size = r->encoded ? -1 : r->content_length,
                                     .range_start = r->range_start,
                                     .range_end = r->range_end,
                                     .range_total = r->range_total};
    memcpy(head->media_type, r->content_type, sizeof(head->media_type));
    memcpy(head->digest, r->digest, sizeof(head->digest));
    memcpy(head->etag, r->etag, sizeof(head->etag));
    memcpy(head->filters, r->filters, sizeof(head->filters));
}

static int tell(struct stream *s, const struct ocv_stream_head *head, struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    s->told = true;
    return q->head && q->head(q->data, head) ? stopped(err) : OCV_OK;
}

/* ---- blobs --------------------------------------------------------------------------------------
 */

/* The transfer was broken: does this answer go on where the last one ended? */
static int continues(struct stream *s, const struct ocv_response *r, struct ocv_error *err)
{
    if (s->request->range)
        return ocv_error_set(err, OCV_ERR_NETWORK, "broke off in a part of the blob");
    bool same = s->size < 0 || r->range_total < 0 || r->range_total == s->size;
    if (s->offset && r->status == 206 && r->range_start == s->offset && same)
        return OCV_OK;
    if (r->status == 206)
        return ocv_error_set(err, OCV_ERR_NETWORK, "another part than was asked for");
    if (s->size >= 0 && r->content_length >= 0 && r->content_length != s->size)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "has another size than before");
    s->skip = s->offset;
    return OCV_OK;
}

static int begin(void *data, struct ocv_exchange *x)
{
    struct stream *s = data;
    const struct ocv_response *r = &x->transfer.response;
    struct ocv_stream_head head;
    if (r->encoded)
        return ocv_error_set(&x->error, OCV_ERR_DATA, "compressed although not asked for");
    if (s->told)
        return continues(s, r, &x->error);
    if (r->status == 206 && !s->request->range)
        return ocv_error_set(&x->error, OCV_ERR_NETWORK, "a part although the whole was asked for");
    fill(&head, r);
    if (r->status != 206)
        s->size = r->content_length;
    x->registry->deadline = 0; /* the rest takes as long as it takes */
    return tell(s, &head, &x->error);
}

static int sink(void *data, const char *bytes, size_t len, struct ocv_error *err)
{
    struct stream *s = data;
    const struct ocv_stream *q = s->request;
    size_t again = (int64_t)len < s->skip ? len : (size_t)s->skip;
    s->skip -= (int64_t)again;
    bytes += again;
    len -= again;
    if (!len)
        return OCV_OK;
    if (s->size >= 0 && (int64_t)len > s->size - s->offset)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "longer than the announced %lld bytes",
                             (long long)s->size);
    if (q->body && q->body(q->data, bytes, len))
        return stopped(err);
    s->offset += (int64_t)len;
    if (!q->range)
        s->exchange.range_from = s->offset;
    return s->hasher ? ocv_hasher_update(s->hasher, bytes, len, err) : OCV_OK;
}

static int verify(struct stream *s, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    if (!s->hasher)
        return OCV_OK;
    int status = ocv_hasher_final(s->hasher, digest, err);
    if (status == OCV_OK && strcmp(digest, s->request->object))
        status =
            ocv_error_set(err, OCV_ERR_MISMATCH, "%s: the bytes have digest %s", s->what, digest);
    return status;
}

static int run_blob(struct stream *s, struct ocv_error *err)
{
    struct ocv_exchange *x = &s->exchange;
    bool get = !s->request->head_only;
    x->begin = begin;
    x->data = s;
    if (get) {
        x->sink = sink;
        x->buffer_size = 128L * 1024;
    }
    if (get && !s->request->range) {
        int status = ocv_hasher_new(s->request->object, &s->hasher, err);
        if (status < 0)
            return status;
    }
    for (;;) {
        int status = ocv_exchange_run(x, err);
        if (status < 0)
            return status;
        if (!get || s->request->range || s->size < 0 || s->offset >= s->size)
            return verify(s, err);
        if (x->attempts++ >= x->registry->retries) /* a body without length that simply ended */
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: ends after %lld of %lld bytes", s->what,
                                 (long long)s->offset, (long long)s->size);
        x->state = OCV_EXCHANGE_READY;
    }
}

/* ---- documents ----------------------------------------------------------------------------------
 */

static int check(struct stream *s, struct ocv_stream_head *head, struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    const struct ocv_buffer *body = &s->exchange.transfer.body;
    const char *bytes = body->data ? body->data : "";
    int status = OCV_OK;
    head->size = (int64_t)body->len;
    if (q->kind != OCV_STREAM_MANIFEST)
        return OCV_OK;
    if (strchr(q->object, ':'))
        snprintf(head->digest, sizeof(head->digest), "%s", q->object);
    if (ocv_digest_known(head->digest))
        status = ocv_digest_check(head->digest, bytes, body->len, err);
    else
        status = ocv_digest_bytes(bytes, body->len, head->digest, err);
    return status < 0 ? ocv_error_prefix(err, "%s", s->what) : OCV_OK;
}

static int run_document(struct stream *s, struct ocv_error *err)
{
    struct ocv_exchange *x = &s->exchange;
    const struct ocv_stream *q = s->request;
    struct ocv_error local = {0};
    struct ocv_stream_head head;
    x->kind = q->kind == OCV_STREAM_MANIFEST ? "manifest" : "list";
    x->body_max = OCV_MANIFEST_MAX;
    int status = ocv_exchange_run(x, &local);
    fill(&head, &x->transfer.response);
    bool unchanged = q->if_none_match && local.http_status == 304;
    if (unchanged)
        status = OCV_OK;
    else if (status == OCV_OK && !q->head_only)
        status = check(s, &head, &local);
    if (status == OCV_OK)
        status = tell(s, &head, &local);
    const struct ocv_buffer *body = &x->transfer.body;
    if (status == OCV_OK && !unchanged && body->len && q->body &&
        q->body(q->data, body->data, body->len))
        status = stopped(&local);
    if (status < 0 && err)
        *err = local;
    return status;
}

/* ---- set-up -------------------------------------------------------------------------------------
 */

static int set_path(struct stream *s, struct ocv_error *err)
{
    static const char *const kinds[] = {[OCV_STREAM_MANIFEST] = "manifests",
                                        [OCV_STREAM_BLOB] = "blobs",
                                        [OCV_STREAM_TAGS] = "tags",
                                        [OCV_STREAM_REFERRERS] = "referrers"};
    const struct ocv_stream *q = s->request;
    const char *object = q->kind == OCV_STREAM_TAGS ? "list" : q->object;
    bool by_digest = strchr(object, ':');
    if (by_digest && !ocv_digest_known(object))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s@%s: unknown digest algorithm",
                             q->reference->name, object);
    if (asprintf(&s->path, "/v2/%s/%s/%s%s%s", q->reference->repository, kinds[q->kind], object,
                 q->query && *q->query ? "?" : "", q->query ? q->query : "") < 0)
        s->path = NULL;
    if (asprintf(&s->what, "%s%s%s", q->reference->name, by_digest ? "@" : ":", object) < 0)
        s->what = NULL;
    return s->path && s->what ? OCV_OK : ocv_error_nomem(err);
}

static int set_up(struct stream *s, struct ocv_registry *registry, struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    struct ocv_exchange *x = &s->exchange;
    if (q->kind != OCV_STREAM_TAGS && !q->object)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: what of it?", q->reference->name);
    int status = set_path(s, err);
    if (status == OCV_OK)
        status = ocv_host_get(registry, q->reference->host, &x->host, err);
    if (status < 0)
        return status;
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
    struct stream s = {.request = request, .size = -1};
    int status = set_up(&s, registry, err);
    if (status == OCV_OK)
        status = request->kind == OCV_STREAM_BLOB ? run_blob(&s, err) : run_document(&s, err);
    if (s.exchange.registry)
        ocv_exchange_free(&s.exchange);
    ocv_hasher_free(s.hasher);
    free(s.path);
    free(s.what);
    return status;
}
