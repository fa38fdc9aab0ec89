/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The worker's side of a pass: from a registry or a layout. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "cmd/variantd/upstream/upstream.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (128u * 1024) /* one read of a blob */
#define PIECE (16u * 1024)   /* libcurl passes at most this much; less means that it has no more */
#define SMALL (64 * 1024)    /* smaller blobs share a connection */

/* Bytes of one write of a blob, and up to how much of the budget in use: the fewer writes, the less
 * often the client wakes. */
static const struct {
    size_t bytes, limit;
} blocks[] = {{1024u * 1024, 4u * 1024 * 1024}, {512u * 1024, BUDGET_SPARE}};

/* Wake the request; false if it has left. */
static bool on_arrival(struct passthrough *p)
{
    pthread_mutex_lock(&p->mirror->lock);
    bool wanted = p->request;
    p->arrived = true;
    if (wanted)
        request_wake(p->request);
    pthread_mutex_unlock(&p->mirror->lock);
    return wanted;
}

bool passthrough_streams(const struct passthrough *p)
{
    return p->kind == ROUTE_BLOB && !p->no_body;
}

/* Reserve memory for bytes that wait for this client. False: the budget is used up, and `no` says
 * so. */
static bool acquire_budget(struct passthrough *p, size_t bytes)
{
    if (p->held == bytes) /* reserved already while it arrived */
        return true;
    if (!budget_acquire(bytes)) {
        p->no = lookup_result_busy();
        return false;
    }
    p->held += bytes;
    return true;
}

static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct passthrough *p = data;
    p->head = *head;
    p->head.next = NULL;
    p->list_next = head->next ? strdup(head->next) : NULL;
    /* A head may be wrong, while known sizes are right. */
    const struct bounds *known = &p->known;
    int64_t *size = &p->head.size;
    if (p->head_only && p->reference->digest && head->status == 200) {
        snprintf(p->head.digest, sizeof(p->head.digest), "%s", p->reference->digest);
        if (known->checked || (*size < 0 && known->most > 0 && known->least == known->most))
            *size = known->most;
        if (*size >= 0 && (*size < known->least || (known->most && *size > known->most))) {
            metrics_raise(p->mirror->metrics, METRICS_ERRORS, p->upstream->name, "mismatch", 1);
            p->no = lookup_result_new(OUTCOME_UPSTREAM_ERROR, 502, "UNKNOWN",
                                      "upstream's size differs from the manifest's");
            return -1;
        }
    }
    if (!passthrough_streams(p))
        return 0;
    /* Small bodies are read and checked completely before the head is sent, and their upstream
     * connection is kept. */
    bool small = head->size >= 0 && head->size <= SMALL;
    if (p->question && small) {
        budget_release((size_t)p->question->buffer);
        p->held -= (size_t)p->question->buffer;
        p->question->buffer = 0;
    }
    /* A client that takes the end of the connection for the end of the body cannot notice a
     * truncated one. */
    if (head->size < 0 && !p->chunks) {
        p->no = lookup_result_new(OUTCOME_UPSTREAM_ERROR, 502, "UNKNOWN",
                                  "upstream gives no length, which HTTP/1.0 requires");
        return -1;
    }
    if (!acquire_budget(p, small ? (size_t)head->size : BUFFER))
        return -1;
    if (small)
        return 0;
    /* less than that in one piece means that no more is at hand */
    p->full = !p->question ? BUFFER : p->question->buffer ? (size_t)p->question->buffer : PIECE;
    if (stream_new(head->status != 206, head->size, STREAM_PATIENCE_MS, &p->stream, NULL) < 0)
        return -1;
    return !on_arrival(p);
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct passthrough *p = data;
    if (p->stream)
        return stream_push(p->stream, bytes, len, len >= p->full);
    return ocv_buffer_append(&p->body, bytes, len, NULL);
}

static int ask_registry(struct passthrough *p, struct ocv_error *err)
{
    static const enum ocv_stream_kind kinds[] = {[ROUTE_TAG] = OCV_STREAM_MANIFEST,
                                                 [ROUTE_DIGEST] = OCV_STREAM_MANIFEST,
                                                 [ROUTE_BLOB] = OCV_STREAM_BLOB,
                                                 [ROUTE_TAGS] = OCV_STREAM_TAGS,
                                                 [ROUTE_REFERRERS] = OCV_STREAM_REFERRERS};
    struct client *client = NULL;
    bool streams = passthrough_streams(p);
    OCV_TRY(client_acquire(p->mirror->clients, p->upstream, p->identity,
                           streams ? PATIENCE_BLOB : PATIENCE_DOCUMENT,
                           p->until_ms - ocv_clock_ms(), &client, err));
    long block = 0; /* gather as much as there is room for */
    for (size_t i = 0; streams && !block && i < sizeof(blocks) / sizeof(*blocks); i++)
        if (budget_acquire_spare(blocks[i].bytes, blocks[i].limit))
            block = (long)blocks[i].bytes;
    p->held += (size_t)block;
    struct ocv_stream question = {
        .kind = kinds[p->kind],
        .reference = p->reference,
        .object = p->reference->digest ? p->reference->digest : p->reference->tag,
        .query = p->query.data,
        .head_only = p->head_only,
        .accept = p->accept[0] ? p->accept : NULL,
        .range = p->range[0] ? p->range : NULL,
        .most = p->kind == ROUTE_BLOB ? p->known.most : 0,
        .buffer = block,
        .head = on_head,
        .body = on_body,
        .data = p,
    };
    metrics_raise(p->mirror->metrics, METRICS_UPSTREAM,
                  streams        ? "blob"
                  : p->head_only ? "head"
                                 : "get",
                  NULL, 1);
    p->question = &question;
    int status = ocv_registry_stream(client_registry(client), &question, err);
    p->question = NULL;
    if (!streams)
        p->held = client_reserved(client, p->body.len);
    client_release(client, status);
    return status;
}

static int open_blob(struct passthrough *p, struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    OCV_TRY(ocv_layout_open(p->upstream->layout, OCV_LAYOUT_READ, &layout, err));
    OCV_TRY(ocv_layout_open_blob(layout, p->reference->digest, &p->fd, &p->size, err));
    p->head.status = 200;
    p->head.size = p->head.range_total = p->size;
    snprintf(p->head.digest, sizeof(p->head.digest), "%s", p->reference->digest);
    if (!p->range[0])
        return OCV_OK;
    if (!header_range_of(p->range, p->size, &p->head.range_start, &p->head.range_end)) {
        ocv_error_set(err, OCV_ERR_INVALID, "%s: range not satisfiable", p->reference->name);
        if (err)
            err->http_status = 416;
        return OCV_ERR_INVALID;
    }
    p->head.status = 206;
    p->from = p->head.range_start;
    p->head.size = p->size = p->head.range_end + 1 - p->from;
    return OCV_OK;
}

/* A file may be damaged: a whole blob is hashed while it is sent, as with a registry. */
static int stream_file(struct passthrough *p, struct ocv_error *err)
{
    ocv_auto(ocv_hasher) hasher = NULL;
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_hasher_new(p->reference->digest, &hasher, err));
    ocv_auto_free char *bytes = malloc(BUFFER);
    if (!bytes)
        return ocv_error_nomem(err);
    int status = OCV_OK;
    if (on_head(p, &p->head) != 0)
        status =
            p->stream ? ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped") : ocv_error_nomem(err);
    for (int64_t at = 0; status == OCV_OK && at < p->size;) {
        ssize_t n = pread(p->fd, bytes, BUFFER, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            status = ocv_error_set(err, OCV_ERR_IO, "%s@%s: %s", p->reference->name,
                                   p->reference->digest,
                                   n ? strerror(errno) : "the layout's file ended early");
        else if (on_body(p, bytes, (size_t)n) != 0)
            status = ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped");
        else
            status = ocv_hasher_update(hasher, bytes, (size_t)n, err);
        at += n;
    }
    if (status == OCV_OK)
        status = ocv_hasher_final(hasher, digest, err);
    if (status == OCV_OK && strcmp(digest, p->reference->digest) != 0)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "%s@%s: the bytes have digest %s",
                               p->reference->name, p->reference->digest, digest);
    if (!p->stream) { /* the bytes are in memory */
        close(p->fd);
        p->fd = -1;
    }
    return status;
}

static int read_layout(struct passthrough *p, struct ocv_error *err)
{
    struct document document = {0};
    int status = OCV_OK;
    p->head = (struct ocv_stream_head){.status = 200};
    switch (p->kind) {
    case ROUTE_BLOB:
        status = open_blob(p, err);
        return status == OCV_OK && passthrough_streams(p) && p->head.status == 200
                   ? stream_file(p, err)
                   : status;
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

/* A manifest is passed on if `trust` has it, whoever asks and by whatever name; a tag by the digest
 * that was checked. */
static int check_trust(struct passthrough *p, struct ocv_error *err)
{
    struct source from = {.upstream = p->upstream};
    struct head head = {0};
    struct ocv_trust_rule rules[2];
    if ((p->kind != ROUTE_TAG && p->kind != ROUTE_DIGEST) ||
        !ocv_config_trust(p->mirror->settings->config, p->reference, rules))
        return OCV_OK;
    if (!p->upstream->layout)
        OCV_TRY(client_acquire(p->mirror->clients, p->upstream, p->identity, PATIENCE_DOCUMENT,
                               FLIGHT_MS, &from.client, err)); /* a late answer is kept */
    int status = OCV_OK;
    if (!p->reference->digest)
        status = upstream_head(&from, p->reference, NULL, &head, err);
    const char *digest = p->reference->digest ? p->reference->digest : head.descriptor.digest;
    if (status == OCV_OK)
        status = !*digest ? ocv_error_set(err, OCV_ERR_UNTRUSTED,
                                          "%s: its registry gives no digest", p->reference->name)
                          : trust_check(p->mirror, &from, p->reference, digest, NULL, err);
    if (status == OCV_OK && !p->reference->digest && !(p->reference->digest = strdup(digest)))
        status = ocv_error_nomem(err);
    if (from.client)
        client_release(from.client, status == OCV_ERR_UNTRUSTED ? OCV_OK : status);
    return status;
}

void passthrough_run(struct job *job)
{
    struct passthrough *p = (struct passthrough *)((char *)job - offsetof(struct passthrough, job));
    struct ocv_error err = {0};
    pthread_mutex_lock(&p->mirror->lock);
    bool wanted = p->request && request_wanted(p->request);
    pthread_mutex_unlock(&p->mirror->lock);
    int status = !wanted ? ocv_error_set(&err, OCV_ERR_INTERRUPTED, "the client has gone")
                         : check_trust(p, &err);
    if (status == OCV_OK)
        status = p->upstream->layout ? read_layout(p, &err) : ask_registry(p, &err);
    if (!wanted) /* the job was queued for too long */
        p->no = lookup_result_busy();
    if (p->stream) {
        stream_end(p->stream, status == OCV_OK);
        if (status != OCV_OK && status != OCV_ERR_INTERRUPTED) {
            metrics_raise(p->mirror->metrics, METRICS_ERRORS, p->upstream->name,
                          status == OCV_ERR_MISMATCH ? "mismatch" : "blob", 1);
            log_line(LOG_LEVEL_WARNING, "%s: the client's connection is cut", err.message);
        }
    } else {
        if (status == OCV_OK && !acquire_budget(p, p->body.len)) {
            status = OCV_ERR_NOMEM;
            ocv_buffer_free(&p->body);
        }
        bool document = p->kind == ROUTE_TAG || p->kind == ROUTE_DIGEST;
        if (status == OCV_OK && p->body.len && document) {
            /* it was checked; a HEAD needs nothing else from it */
            sizes_learn(p->mirror, p->reference, p->head.media_type, &p->body);
            sizes_learn_own(p->mirror, p->reference, p->head.digest, p->body.len);
            if (p->no_body) {
                ocv_buffer_free(&p->body);
                budget_release(p->held);
                p->held = 0;
            }
        }
        if (status < 0 && err.http_status == 416 && p->range[0]) /* else the range was ours */
            p->no = lookup_result_new(OUTCOME_PASSED, 416, "UNSUPPORTED", "range not satisfiable");
        else if (status < 0 && !p->no)
            p->no = lookup_result_of_error(p->mirror, p->upstream, p->identity, p->reference, &err);
        if (status < 0 && !p->no) /* out of memory, twice */
            p->head.status = 0;
        (void)on_arrival(p);
    }
    pthread_mutex_lock(&p->mirror->lock);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    pthread_mutex_unlock(&p->mirror->lock);
    refcounted_unref(&p->item);
}
