/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passing through the proxy's other requests. Documents are fetched completely and checked before
 * the first byte is sent; a larger blob is sent by the worker itself as it arrives. The worker and
 * the request share the pass; either may leave first. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/format/encodings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void free_pass(struct refcounted *item)
{
    struct passthrough *p =
        (struct passthrough *)((char *)item - offsetof(struct passthrough, item));
    ocv_reference_free(p->reference);
    refcounted_unref(p->no);
    budget_release(p->held);
    ocv_buffer_free(&p->body);
    ocv_buffer_free(&p->query);
    free(p->list_next);
    refcounted_unref(p->stream);
    if (p->fd >= 0)
        close(p->fd);
    free(p);
}

struct header_list {
    char *text;
    size_t len, max;
};

static enum MHD_Result join_accept(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct header_list *all = cls;
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

/* Add NAME=VALUE, escaped, for the few arguments passed upstream. False: no memory. */
static bool add_query(struct passthrough *p, struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    if (!value || strlen(value) > QUERY_VALUE_MAX)
        return true;
    return ocv_buffer_printf(&p->query, NULL, "%s%s=", p->query.len ? "&" : "", name) == OCV_OK &&
           ocv_url_escape(value, OCV_URL_UNRESERVED, &p->query, NULL) == OCV_OK;
}

bool passthrough_start(struct mirror_request *r)
{
    struct mirror *m = r->mirror;
    struct passthrough *p = calloc(1, sizeof(*p));
    if (!p)
        return false;
    refcounted_init(&p->item, free_pass);
    ocv_buffer_init(&p->body, OCV_MANIFEST_MAX);
    ocv_buffer_init(&p->query, QUERY_MAX);
    p->fd = -1;
    p->mirror = m;
    p->request = r;
    p->kind = r->route.kind;
    p->identity = request_identity(r);
    p->upstream = r->route.upstream;
    p->reference = r->route.reference; /* the request no longer needs it */
    r->route.reference = NULL;
    p->no_body = r->head;
    if (p->reference->digest)
        sizes_find(m, p->reference, p->reference->digest, &p->known);
    /* Upstream's head suffices for a HEAD, but for a document of unknown size, whose digest is
     * given, the bytes are fetched. */
    bool document = p->kind == ROUTE_TAG || p->kind == ROUTE_DIGEST;
    p->head_only = p->no_body && (!document || !p->reference->digest || p->known.checked);
    p->chunks = r->chunks;
    p->until_ms = r->started_us / 1000 + (p->kind == ROUTE_TAG    ? TAG_ANSWER_MS
                                          : p->kind == ROUTE_BLOB ? BLOB_ANSWER_MS
                                                                  : DOCUMENT_ANSWER_MS);
    struct header_list all = {.text = p->accept, .max = sizeof(p->accept)};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, join_accept, &all);
    const char *range = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Range");
    /* for several ranges or another unit the whole blob is a valid answer */
    if (p->kind == ROUTE_BLOB && range && header_range_single(range))
        snprintf(p->range, sizeof(p->range), "%s", range);
    bool added = p->kind == ROUTE_TAGS
                     ? add_query(p, r->connection, "n") && add_query(p, r->connection, "last")
                     : p->kind != ROUTE_REFERRERS || add_query(p, r->connection, "artifactType");
    if (!added) {
        refcounted_unref(&p->item);
        return false;
    }
    p->job.work = passthrough_streams(p) ? WORK_BLOB : WORK_DOCUMENT;
    p->job.upstream = (size_t)(p->upstream - m->settings->upstreams);
    p->job.client = connections_client(r->connection);
    p->job.run = passthrough_run;

    pthread_mutex_lock(&m->lock);
    refcounted_ref(&p->item); /* the worker's reference */
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
        refcounted_unref(&p->item);
        refcounted_unref(&p->item);
    }
    return started;
}

void passthrough_leave(struct mirror_request *r)
{
    struct passthrough *p = r->pass;
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
    refcounted_unref(&p->item);
}

static void make_way(struct passthrough *p, size_t *waiting)
{
    if (!*waiting)
        return;
    --*waiting;
    p->slow = false;
    metrics_add(p->mirror->metrics, METRIC_SLOW_READERS_TOTAL, 1);
    stream_cut(p->stream);
}

/* Disconnects as many readers as jobs wait, first for the same registry. A client that was cut off
 * tries another mirror, or asks for the rest. */
void passthrough_make_way(struct mirror *m)
{
    size_t waiting[WORKERS_UPSTREAMS_MAX], left = 0;
    workers_waiting(m->workers, WORK_BLOB, waiting);
    for (struct passthrough *p = m->passes; p; p = p->next) {
        p->slow = p->arrived && p->stream && stream_slow(p->stream);
        if (p->slow)
            make_way(p, &waiting[p->job.upstream]);
    }
    for (size_t i = 0; i < WORKERS_UPSTREAMS_MAX; i++)
        left += waiting[i];
    if (workers_running(m->workers, WORK_BLOB) < WORKERS_BLOB_EACH)
        return; /* the limit for all registries is not what they wait for */
    for (struct passthrough *p = m->passes; p; p = p->next)
        if (p->slow)
            make_way(p, &left);
}

static bool add_headers(struct MHD_Response *response, const struct mirror_request *r,
                        const struct passthrough *p)
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
    /* The next page is asked for here: same path, upstream's query, our `ns`. */
    const char *query = ok && p->list_next ? strchr(p->list_next, '?') : NULL;
    if (query && !query[strspn(query, "?&=%-._~+:/0123456789abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ")]) {
        char line[4096];
        int n = snprintf(line, sizeof(line), "<%s%s%s%s>; rel=\"next\"", r->url, query,
                         r->ns ? "&ns=" : "", r->ns ? r->ns : "");
        ok = n < 0 || n >= (int)sizeof(line) ||
             MHD_add_response_header(response, "Link", line) == MHD_YES;
    }
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

enum MHD_Result passthrough_answer(struct mirror_request *r)
{
    struct passthrough *p = r->pass;
    pthread_mutex_lock(&r->mirror->lock);
    bool arrived = p->arrived && !r->mirror->stopping;
    pthread_mutex_unlock(&r->mirror->lock);
    if (!arrived)
        return answer_late(r);
    if (p->no) {
        /* the distribution specification's code for what is missing */
        bool missing = p->no->outcome == OUTCOME_MISSING || p->no->outcome == OUTCOME_DENIED;
        const char *code = missing && p->kind == ROUTE_BLOB   ? "BLOB_UNKNOWN"
                           : missing && p->kind == ROUTE_TAGS ? "NAME_UNKNOWN"
                                                              : p->no->code;
        bool refused = p->no->outcome == OUTCOME_UNTRUSTED;
        return answer_error(r, refused ? 403 : p->no->status, p->no->outcome, code, p->no->message);
    }
    if (!p->head.status)
        return answer_error(r, 502, OUTCOME_BUSY, "UNKNOWN", "out of memory");
    struct MHD_Response *response;
    if (p->stream) {
        response = stream_response(p->stream, r->connection);
    } else if (p->fd >= 0) {
        response =
            MHD_create_response_from_fd_at_offset64((uint64_t)p->size, p->fd, (uint64_t)p->from);
        if (response)
            p->fd = -1;
    } else if (r->head) {
        response = answer_head(p->head.size);
    } else if (!p->body.data) {
        response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    } else {
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            p->body.len, p->body.data, refcounted_unref, &p->item);
        if (response)
            refcounted_ref(&p->item);
    }
    if (!response)
        return MHD_NO;
    if (!add_headers(response, r, p)) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return answer(r, response, (unsigned)p->head.status, r->passed_as,
                  r->head || p->stream ? 0 : p->head.size);
}
