/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Responses: headers, error bodies, cached answers, and the access log. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/clock.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNING_MAX 1024 /* the distribution specification allows 4,096 */

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

bool answer_common(struct MHD_Response *response, const struct mirror_request *r)
{
    return add_header(response, "Docker-Distribution-Api-Version", "registry/2.0") &&
           (!r->ns || !r->route.upstream || add_header(response, "OCI-Namespace", r->ns));
}

static ssize_t no_body(void *cls, uint64_t position, char *out, size_t max)
{
    (void)cls;
    (void)position;
    (void)out;
    (void)max;
    return MHD_CONTENT_READER_END_WITH_ERROR; /* not called for a HEAD */
}

struct MHD_Response *answer_head(int64_t size)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        size < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)size, 1024, no_body, NULL, NULL);
    /* without this libmicrohttpd would use chunks, and send their end even after a HEAD */
    if (response && size < 0 &&
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END) !=
            MHD_YES) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

struct accept_header {
    const char *type;
    bool any, found;
};

static enum MHD_Result match_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct accept_header *w = cls;
    (void)kind;
    if (!value || !*value || strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) != 0)
        return MHD_YES;
    w->any = true;
    w->found = header_accepts(value, w->type);
    return w->found ? MHD_NO : MHD_YES;
}

bool accepts(struct MHD_Connection *connection, const char *media_type)
{
    struct accept_header w = {.type = media_type};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, match_header, &w);
    return w.found || !w.any;
}

void log_answer(struct mirror *mirror, struct MHD_Connection *connection, const char *method,
                const char *url, const struct log_request *what)
{
    const char *agent = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "User-Agent");
    if (what->outcome == OUTCOME_BASE && agent && !strcmp(agent, SELFCHECK_AGENT))
        return; /* the daemon itself */
    metrics_request(mirror->metrics, what->outcome, what->us, what->bytes);
    if (what->outcome == OUTCOME_VARIANT)
        metrics_raise(mirror->metrics, METRICS_CHOSEN, *what->label ? what->label : "default", NULL,
                      1);
    if (!log_wants_requests())
        return;
    char peer[INET6_ADDRSTRLEN] = "-";
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info && info->client_addr->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)info->client_addr)->sin6_addr, peer,
                  sizeof(peer));
    else if (info)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)info->client_addr)->sin_addr, peer,
                  sizeof(peer));
    struct log_request line = *what;
    line.peer = peer;
    line.method = method;
    line.url = url;
    line.user_agent = agent;
    line.label = what->label && *what->label ? what->label : NULL;
    log_request(&line);
}

static enum MHD_Result queue_response(struct mirror_request *r, struct MHD_Response *response,
                                      unsigned status, enum outcome outcome, int64_t bytes)
{
    r->status = status;
    r->outcome = outcome;
    r->bytes = bytes;
    return MHD_queue_response(r->connection, status, response);
}

enum MHD_Result answer(struct mirror_request *r, struct MHD_Response *response, unsigned status,
                       enum outcome outcome, int64_t bytes)
{
    enum MHD_Result result = queue_response(r, response, status, outcome, bytes);
    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *error_response(const struct mirror_request *r, const char *code,
                                           const char *message)
{
    json_t *root = json_pack("{s:[{s:s, s:s}]}", "errors", "code", code, "message", message);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    size_t len = text ? strlen(text) : 0;
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response) {
        free(text);
        return NULL;
    }
    if (answer_common(response, r) && add_header(response, "Content-Type", "application/json"))
        return response;
    MHD_destroy_response(response);
    return NULL;
}

enum MHD_Result answer_error(struct mirror_request *r, unsigned status, enum outcome outcome,
                             const char *code, const char *message)
{
    /* where a resolver cannot answer for the registry, the engine asks it itself, and shows what it
     * says */
    if (r->route.view == VIEW_RESOLVER && status >= 500) {
        status = 404;
        code = "MANIFEST_UNKNOWN";
    }
    struct MHD_Response *response = error_response(r, code, message);
    if (!response)
        return MHD_NO;
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED && !add_header(response, "Allow", "GET, HEAD")) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return answer(r, response, status, outcome, 0);
}

enum MHD_Result answer_busy(struct mirror_request *r)
{
    return answer_error(r, 502, OUTCOME_BUSY, "UNKNOWN", "server busy, retry later");
}

enum MHD_Result answer_late(struct mirror_request *r)
{
    char message[300];
    snprintf(message, sizeof(message), "registry %s: no answer in time", r->route.upstream->name);
    return answer_error(r, 504, OUTCOME_TIMEOUT, "UNKNOWN", message);
}

enum MHD_Result answer_base(struct mirror_request *r)
{
    static char body[] = "{}";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(2, body, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    if (answer_common(response, r) && add_header(response, "Content-Type", "application/json"))
        return answer(r, response, MHD_HTTP_OK, OUTCOME_BASE, 2);
    MHD_destroy_response(response);
    return MHD_NO;
}

static void free_cached(struct refcounted *item)
{
    struct cached_response *cached = (struct cached_response *)item;
    if (cached->response)
        MHD_destroy_response(cached->response);
    free(cached);
}

/* Everything in a request that determines its answer, except Accept, which is checked separately.
 */
static void cached_key(const char *url, const char *ns, bool head, struct key *key)
{
    key_begin(key);
    key_add(key, head ? "H" : "G");
    key_add(key, ns);
    key_add(key, url);
}

bool answer_from_cache(struct mirror *mirror, struct MHD_Connection *connection, const char *url,
                       const char *method, int64_t started_us, enum MHD_Result *result)
{
    struct key key;
    bool head = *method == 'H';
    cached_key(url, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "ns"), head,
               &key);
    struct cached_response *cached = cache_find(mirror->responses, &key);
    if (!cached)
        return false;
    if (cached->generation != node_generation(mirror->node) ||
        cached->valid_until_ms <= started_us / 1000 ||
        (cached->media_type[0] && !accepts(connection, cached->media_type))) {
        refcounted_unref(cached);
        return false;
    }
    *result = MHD_queue_response(connection, cached->status, cached->response);
    metrics_raise(mirror->metrics, METRICS_UPSTREAM, "remembered", NULL, 1);
    struct log_request line = {.status = cached->status,
                               .outcome = cached->outcome,
                               .label = cached->label,
                               .bytes = cached->bytes,
                               .us = ocv_clock_us() - started_us};
    log_answer(mirror, connection, method, url, &line);
    refcounted_unref(cached);
    return true;
}

/* Takes over the response. */
static void keep_cached(struct mirror_request *r, struct MHD_Response *response,
                        const struct lookup_result *v)
{
    struct mirror *m = r->mirror;
    struct key key;
    struct cached_response *cached =
        m->settings->tag_ttl_ms > 0 ? calloc(1, sizeof(*cached)) : NULL;
    if (!cached) {
        MHD_destroy_response(response);
        return;
    }
    refcounted_init(&cached->item, free_cached);
    cached->status = v->status;
    cached->outcome = v->outcome;
    cached->generation = v->generation;
    cached->valid_until_ms = v->validated_ms + m->settings->tag_ttl_ms;
    memcpy(cached->label, v->label, sizeof(cached->label));
    if (v->outcome == OUTCOME_VARIANT) {
        memcpy(cached->media_type, v->child.media_type, sizeof(cached->media_type));
        cached->bytes = r->head ? 0 : v->child.size;
    }
    cached->response = response;
    cached_key(r->url, r->ns, r->head, &key);
    cache_keep(m->responses, &key, cached, sizeof(*cached) + 2048 + (size_t)cached->bytes);
    refcounted_unref(cached);
}

static void put_document(void *cls)
{
    struct document *document = cls;
    if (!document->reserved)
        budget_release(document->body.len);
    refcounted_unref(document);
}

enum MHD_Result answer_child(struct mirror_request *r, const struct lookup_result *v,
                             struct document *document)
{
    char warning[WARNING_MAX];
    const struct ocv_reference *ref = r->route.reference;
    struct MHD_Response *response;
    if (r->head) {
        response = answer_head(v->child.size);
    } else {
        /* memory for a large document is reserved once for all its clients */
        if (!document->reserved && !budget_acquire(document->body.len))
            return answer_busy(r);
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            document->body.len, document->body.data, put_document, refcounted_ref(document));
        if (!response)
            put_document(document);
    }
    if (!response)
        return MHD_NO;
    snprintf(warning, sizeof(warning), "299 - \"variantd: chose %s of %s:%s\"",
             *v->label ? v->label : "the default", ref->name, ref->tag);
    if (!answer_common(response, r) || !add_header(response, "Content-Type", v->child.media_type) ||
        !add_header(response, "Docker-Content-Digest", v->child.digest) ||
        !add_header(response, "Warning", warning)) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    memcpy(r->label, v->label, sizeof(r->label));
    enum MHD_Result result =
        queue_response(r, response, MHD_HTTP_OK, OUTCOME_VARIANT, r->head ? 0 : v->child.size);
    keep_cached(r, response, v);
    return result;
}

enum MHD_Result answer_top(struct mirror_request *r, const struct lookup_result *v)
{
    struct MHD_Response *response = answer_head(v->top.size);
    if (!response)
        return MHD_NO;
    if (answer_common(response, r) && add_header(response, "Content-Type", v->top.media_type) &&
        add_header(response, "Docker-Content-Digest", v->top.digest))
        return answer(r, response, MHD_HTTP_OK, r->passed_as, 0);
    MHD_destroy_response(response);
    return MHD_NO;
}

enum MHD_Result answer_nothing(struct mirror_request *r, const struct lookup_result *v)
{
    struct MHD_Response *response = error_response(r, v->code, v->message);
    if (!response)
        return MHD_NO;
    /* a resolver's engine takes 404 alone for "ask the registry" */
    bool refused = v->outcome == OUTCOME_UNTRUSTED && r->route.view != VIEW_RESOLVER;
    enum MHD_Result result = queue_response(r, response, refused ? 403 : v->status, v->outcome, 0);
    if (v->outcome == OUTCOME_ORDINARY || v->outcome == OUTCOME_NO_FIT)
        keep_cached(r, response, v);
    else
        MHD_destroy_response(response);
    return result;
}
