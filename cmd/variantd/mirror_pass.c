/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handing through what a proxy is asked for. Documents are fetched whole and checked before the
 * first byte leaves; blobs flow through a ring as they come. A worker and a request share the pass;
 * either may leave first. */
#include "clock.h"
#include "header.h"
#include "layout_upstream.h"
#include "mirror_internal.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCEPT_MAX 4096u /* of all Accept headers together, passed on */
#define RANGE_MAX 64u
#define QUERY_MAX 1024u

struct pass {
    struct item item;
    struct job job;
    struct mirror *mirror;
    struct pass *next, **link; /* in mirror->passes, under its lock, while a worker has it */
    struct request *request;   /* under the lock; NULL when it has left */
    /* the question */
    enum route_kind kind;
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference;
    bool head_only;
    int64_t until_ms;
    char accept[ACCEPT_MAX], range[RANGE_MAX], query[QUERY_MAX];
    /* the answer: the worker's until `arrived`, the request's afterwards */
    bool arrived;
    struct verdict *no; /* why not, or NULL */
    struct ocv_stream_head head;
    char *list_link;
    struct ocv_buffer body;
    struct stream *stream;
    int fd;
    int64_t from, size; /* of the part of a file */
};

static void free_pass(struct item *item)
{
    struct pass *p = (struct pass *)((char *)item - offsetof(struct pass, item));
    ocv_reference_free(p->reference);
    item_put(p->no);
    ocv_buffer_free(&p->body);
    free(p->list_link);
    if (p->stream)
        stream_put(p->stream);
    if (p->fd >= 0)
        close(p->fd);
    free(p);
}

/* ---- the worker's side
 * ---------------------------------------------------------------------------
 */

/* Wake the request; false if it has left. */
static bool arrive(struct pass *p)
{
    pthread_mutex_lock(&p->mirror->lock);
    bool wanted = p->request;
    p->arrived = true;
    if (wanted)
        request_wake(p->request);
    pthread_mutex_unlock(&p->mirror->lock);
    return wanted;
}

static bool is_stream(const struct pass *p)
{
    return p->kind == ROUTE_BLOB && !p->head_only;
}

/* Room for all streams together stays the same, within bounds. */
static size_t ring_size(const struct mirror *m)
{
    size_t n = workers_running(m->workers, WORK_BLOB);
    return n <= 4 ? STREAM_RING_MAX : n <= 16 ? STREAM_RING_MIN * 2 : STREAM_RING_MIN;
}

static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct pass *p = data;
    p->head = *head;
    p->head.link = NULL;
    p->list_link = head->link ? strdup(head->link) : NULL;
    if (!is_stream(p))
        return 0;
    if (stream_new(head->status == 200, ring_size(p->mirror), &p->stream, NULL) < 0)
        return -1;
    return !arrive(p);
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct pass *p = data;
    if (p->stream)
        return stream_push(p->stream, bytes, len);
    return ocv_buffer_append(&p->body, bytes, len, NULL);
}

static int ask(struct pass *p, struct client *client, struct ocv_error *err)
{
    static const enum ocv_stream_kind kinds[] = {[ROUTE_TAG] = OCV_STREAM_MANIFEST,
                                                 [ROUTE_DIGEST] = OCV_STREAM_MANIFEST,
                                                 [ROUTE_BLOB] = OCV_STREAM_BLOB,
                                                 [ROUTE_TAGS] = OCV_STREAM_TAGS,
                                                 [ROUTE_REFERRERS] = OCV_STREAM_REFERRERS};
    int64_t left = p->until_ms - clock_ms();
    struct ocv_stream question = {
        .kind = kinds[p->kind],
        .reference = p->reference,
        .object = p->reference->digest ? p->reference->digest : p->reference->tag,
        .query = p->query,
        .head_only = p->head_only,
        .accept = p->accept[0] ? p->accept : NULL,
        .range = p->range[0] ? p->range : NULL,
        .head = on_head,
        .body = on_body,
        .data = p,
    };
    ocv_registry_deadline(client_registry(client), left > 1 ? (unsigned)left : 1);
    metrics_upstream(p->mirror->metrics, is_stream(p) ? "blob" : p->head_only ? "head" : "get");
    return ocv_registry_stream(client_registry(client), &question, err);
}

static int ask_registry(struct pass *p, struct ocv_error *err)
{
    struct client *client = NULL;
    enum patience patience = is_stream(p) ? PATIENCE_BLOB : PATIENCE_DOCUMENT;
    int status = client_take(p->mirror->clients, p->identity, patience, &client, err);
    if (status < 0)
        return status;
    status = ask(p, client, err);
    client_give(client, status);
    return status;
}

/* ---- from a layout
 * -------------------------------------------------------------------------------
 */

static int open_blob(struct pass *p, struct ocv_error *err)
{
    int status = layout_blob(p->upstream, p->reference->digest, &p->fd, &p->size, err);
    if (status < 0)
        return status;
    p->head.status = 200;
    p->head.size = p->head.range_total = p->size;
    snprintf(p->head.digest, sizeof(p->head.digest), "%s", p->reference->digest);
    if (!p->range[0])
        return OCV_OK;
    if (!header_range_of(p->range, p->size, &p->head.range_start, &p->head.range_end)) {
        ocv_error_set(err, OCV_ERR_INVALID, "%s: not a part of it", p->reference->name);
        if (err)
            err->http_status = 416;
        return OCV_ERR_INVALID;
    }
    p->head.status = 206;
    p->from = p->head.range_start;
    p->head.size = p->size = p->head.range_end + 1 - p->from;
    return OCV_OK;
}

static int read_layout(struct pass *p, struct ocv_error *err)
{
    struct document document = {0};
    int status = OCV_OK;
    p->head = (struct ocv_stream_head){.status = 200};
    switch (p->kind) {
    case ROUTE_BLOB:
        return open_blob(p, err);
    case ROUTE_TAGS:
        snprintf(p->head.media_type, sizeof(p->head.media_type), "application/json");
        status = layout_tags(p->upstream, p->reference, &p->body, err);
        break;
    case ROUTE_TAG:
    case ROUTE_DIGEST:
        ocv_buffer_init(&document.body, OCV_MANIFEST_MAX);
        status = layout_get(p->upstream, p->reference, NULL, &document, err);
        p->body = document.body;
        memcpy(p->head.media_type, document.descriptor.media_type, sizeof(p->head.media_type));
        memcpy(p->head.digest, document.descriptor.digest, sizeof(p->head.digest));
        break;
    default:
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no such list", p->reference->name);
    }
    p->head.size = (int64_t)p->body.len;
    return status;
}

/* ---- the job ------------------------------------------------------------------------------------
 */

static void finish_stream(struct pass *p, int status, const struct ocv_error *err)
{
    stream_end(p->stream, status == OCV_OK);
    if (status == OCV_OK || status == OCV_ERR_INTERRUPTED)
        return;
    metrics_upstream_error(p->mirror->metrics, p->upstream->name,
                           status == OCV_ERR_MISMATCH ? "mismatch" : "blob");
    log_line(LOG_LEVEL_WARNING, "%s: the client's connection is cut", err->message);
}

static void run(struct job *job)
{
    struct pass *p = (struct pass *)((char *)job - offsetof(struct pass, job));
    struct ocv_error err = {0};
    int status = p->upstream->layout ? read_layout(p, &err) : ask_registry(p, &err);
    if (p->stream) {
        finish_stream(p, status, &err);
    } else {
        if (status < 0 && err.http_status == 416)
            p->no = verdict_new(OUTCOME_PASSED, 416, "UNSUPPORTED", "not a part of it");
        else if (status < 0)
            p->no = verdict_of_error(p->mirror, p->upstream, &err);
        if (status < 0 && !p->no) /* no memory, twice */
            p->head.status = 0;
        (void)arrive(p);
    }
    pthread_mutex_lock(&p->mirror->lock);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    pthread_mutex_unlock(&p->mirror->lock);
    item_put(&p->item);
}

/* ---- the request's side -------------------------------------------------------------------------
 */

struct joined {
    char *text;
    size_t len, max;
};

static enum MHD_Result join_accept(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct joined *all = cls;
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) != 0 || !value)
        return MHD_YES;
    int n =
        snprintf(all->text + all->len, all->max - all->len, "%s%s", all->len ? ", " : "", value);
    if (n < 0 || (size_t)n >= all->max - all->len)
        all->text[all->len] = '\0'; /* as many as fit */
    else
        all->len += (size_t)n;
    return MHD_YES;
}

/* NAME=VALUE, escaped, for the few that upstream may be told. */
static void add_query(struct pass *p, struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    size_t at = strlen(p->query), start = at;
    if (!value || strlen(value) > QUERY_MAX / 8)
        return;
    at += (size_t)snprintf(p->query + at, QUERY_MAX - at, "%s%s=", at ? "&" : "", name);
    for (const char *c = value; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                     (*c >= 'A' && *c <= 'Z') || *c == '-' || *c == '.' || *c == '_';
        if (at + 4 >= QUERY_MAX) {
            p->query[start] = '\0';
            return;
        }
        at += (size_t)snprintf(p->query + at, QUERY_MAX - at, plain ? "%c" : "%%%02X",
                               (unsigned char)*c);
    }
}

static void read_headers(struct pass *p, const struct request *r)
{
    struct MHD_Connection *connection = r->connection;
    struct joined all = {.text = p->accept, .max = sizeof(p->accept)};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, join_accept, &all);
    const char *range = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Range");
    /* several ranges, or another unit: the whole is a right answer, too */
    if (p->kind == ROUTE_BLOB && range && header_range_single(range))
        snprintf(p->range, sizeof(p->range), "%s", range);
    if (p->kind == ROUTE_TAGS) {
        add_query(p, connection, "n");
        add_query(p, connection, "last");
    } else if (p->kind == ROUTE_REFERRERS) {
        add_query(p, connection, "artifactType");
    }
}

static enum identity identity_of(const struct request *r)
{
    const struct mirror *m = r->mirror;
    bool private = m->private[r->route.upstream - m->settings->upstreams];
    bool tag_head = r->head && r->route.kind == ROUTE_TAG;
    return private && (tag_head || m->settings->serve_private) ? IDENTITY_DAEMON
                                                               : IDENTITY_ANONYMOUS;
}

static struct pass *make(struct request *r)
{
    struct mirror *m = r->mirror;
    struct pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    item_init(&p->item, free_pass);
    ocv_buffer_init(&p->body, OCV_MANIFEST_MAX);
    p->fd = -1;
    p->mirror = m;
    p->request = r;
    p->kind = r->route.kind;
    p->identity = identity_of(r);
    p->upstream = r->route.upstream;
    p->reference = r->route.reference; /* the request needs it no more */
    r->route.reference = NULL;
    p->head_only = r->head;
    p->until_ms = r->started_us / 1000 + (p->kind == ROUTE_TAG    ? MIRROR_ANSWER_MS
                                          : p->kind == ROUTE_BLOB ? BLOB_ANSWER_MS
                                                                  : DOCUMENT_ANSWER_MS);
    read_headers(p, r);
    p->job.work = is_stream(p) ? WORK_BLOB : WORK_DOCUMENT;
    p->job.upstream = (size_t)(p->upstream - m->settings->upstreams);
    p->job.run = run;
    return p;
}

bool pass_start(struct request *r)
{
    struct mirror *m = r->mirror;
    struct pass *p = make(r);
    if (!p)
        return false;
    pthread_mutex_lock(&m->lock);
    item_get(&p->item); /* the worker's */
    bool started = !m->stopping && workers_submit(m->workers, &p->job);
    if (started) {
        p->next = m->passes;
        p->link = &m->passes;
        if (p->next)
            p->next->link = &p->next;
        m->passes = p;
        r->pass = p;
        request_sleep(r, p->until_ms);
    }
    pthread_mutex_unlock(&m->lock);
    if (!started) {
        item_put(&p->item);
        item_put(&p->item);
    }
    return started;
}

void pass_leave(struct request *r)
{
    struct pass *p = r->pass;
    if (!p)
        return;
    pthread_mutex_lock(&r->mirror->lock);
    p->request = NULL;
    struct stream *stream = p->arrived ? p->stream : NULL;
    pthread_mutex_unlock(&r->mirror->lock);
    if (stream) {
        r->bytes = stream_sent(stream);
        stream_cut(stream);
    }
    r->pass = NULL;
    item_put(&p->item);
}

void pass_stop_all(struct mirror *m)
{
    for (struct pass *p = m->passes; p; p = p->next)
        if (p->arrived && p->stream)
            stream_cut(p->stream);
}

/* ---- the answer ---------------------------------------------------------------------------------
 */

/* The next page is asked for here again: same path, upstream's query, our `ns`. */
static bool add_link(struct MHD_Response *response, const struct request *r, const char *link)
{
    char line[4096];
    const char *end = *link == '<' ? strchr(link, '>') : NULL;
    const char *query = end ? memchr(link, '?', (size_t)(end - link)) : NULL;
    if (!query || strspn(query, "?&=%-._~+:/0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < (size_t)(end - query))
        return true;
    int n = snprintf(line, sizeof(line), "<%s%.*s%s%s>; rel=\"next\"", r->url, (int)(end - query),
                     query, r->ns ? "&ns=" : "", r->ns ? r->ns : "");
    return n < 0 || n >= (int)sizeof(line) ||
           MHD_add_response_header(response, "Link", line) == MHD_YES;
}

static bool add_headers(struct MHD_Response *response, const struct request *r,
                        const struct pass *p)
{
    const struct ocv_stream_head *h = &p->head;
    const char *type = h->media_type[0] ? h->media_type : "application/octet-stream";
    bool ok = answer_common(response, r) &&
              MHD_add_response_header(response, "Content-Type", type) == MHD_YES;
    const char *digest = p->kind == ROUTE_BLOB ? p->reference->digest : h->digest;
    if (ok && *digest)
        ok = MHD_add_response_header(response, "Docker-Content-Digest", digest) == MHD_YES;
    if (ok && h->filters[0])
        ok = MHD_add_response_header(response, "OCI-Filters-Applied", h->filters) == MHD_YES;
    if (ok && p->list_link)
        ok = add_link(response, r, p->list_link);
    if (ok && p->kind == ROUTE_BLOB)
        ok = MHD_add_response_header(response, "Accept-Ranges", "bytes") == MHD_YES;
    if (ok && h->status == 206 && h->range_start >= 0) {
        char range[96], total[24] = "*";
        if (h->range_total >= 0)
            snprintf(total, sizeof(total), "%lld", (long long)h->range_total);
        snprintf(range, sizeof(range), "bytes %lld-%lld/%s", (long long)h->range_start,
                 (long long)h->range_end, total);
        ok = MHD_add_response_header(response, "Content-Range", range) == MHD_YES;
    }
    return ok;
}

static struct MHD_Response *make_response(struct request *r, struct pass *p)
{
    struct MHD_Response *response;
    if (p->stream)
        return stream_response(p->stream, r->connection, p->head.size);
    if (p->fd >= 0) {
        response =
            MHD_create_response_from_fd_at_offset64((uint64_t)p->size, p->fd, (uint64_t)p->from);
        if (response)
            p->fd = -1;
        return response;
    }
    if (r->head)
        return answer_head(p->head.size);
    response = MHD_create_response_from_buffer(p->body.len, p->body.data ? p->body.data : "",
                                               p->body.data ? MHD_RESPMEM_MUST_FREE
                                                            : MHD_RESPMEM_PERSISTENT);
    if (response)
        ocv_buffer_init(&p->body, 0);
    return response;
}

enum MHD_Result pass_answer(struct request *r)
{
    struct pass *p = r->pass;
    pthread_mutex_lock(&r->mirror->lock);
    bool arrived = p->arrived && !r->mirror->stopping;
    pthread_mutex_unlock(&r->mirror->lock);
    if (!arrived)
        return answer_error(r, 504, OUTCOME_TIMEOUT, "UNKNOWN", "no answer from upstream in time");
    if (p->no)
        return answer_error(r, p->no->status, p->no->outcome, p->no->code, p->no->message);
    if (!p->head.status)
        return answer_error(r, 502, OUTCOME_BUSY, "UNKNOWN", "out of memory");
    struct MHD_Response *response = make_response(r, p);
    if (!response)
        return MHD_NO;
    if (!add_headers(response, r, p)) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return answer(r, response, (unsigned)p->head.status, OUTCOME_PASSED,
                  r->head || p->stream ? 0 : p->head.size);
}
