/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request from its first call to its last. libmicrohttpd calls once after the head, again where a
 * body would be, and after each resumption. */
#include "cmd/common/image/image.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the caches. */
#define CHOICES_MAX 4096u
#define CHOICES_BYTES (4u * 1024 * 1024)
#define TAGS_MAX 8192u
#define TAGS_BYTES (8u * 1024 * 1024)
#define CHILDREN_MAX 8192u
#define CHILDREN_BYTES (8u * 1024 * 1024)
#define RESPONSES_MAX 4096u
#define RESPONSES_BYTES (12u * 1024 * 1024)
#define SIZES_MAX 16384u
#define SIZES_BYTES (4u * 1024 * 1024)
#define CONFIGS_MAX 4096u
#define CONFIGS_BYTES (4u * 1024 * 1024)
#define TRUSTED_MAX 16384u
#define TRUSTED_BYTES (16u * 1024 * 1024)
#define REFUSED_MAX 1024u
#define REFUSED_BYTES (4u * 1024 * 1024)

OCV_DEFINE_CLEANUP(mirror)

static int marker; /* its address marks a request that has no state yet */

int mirror_new(const struct settings *settings, struct node *node, struct metrics *metrics,
               struct mirror **out, struct ocv_error *err)
{
    ocv_auto(mirror) m = calloc(1, sizeof(*m));
    if (!m)
        return ocv_error_nomem(err);
    m->settings = settings;
    m->node = node;
    m->metrics = metrics;
    OCV_TRY(waiting_start(m, err));
    OCV_TRY(clients_new(settings, metrics, &m->clients, err));
    OCV_TRY(workers_new(clients_trim, m->clients, &m->workers, err));
    OCV_TRY(cache_new(CHOICES_MAX, CHOICES_BYTES, &m->choices, err));
    OCV_TRY(cache_new(TAGS_MAX, TAGS_BYTES, &m->tags, err));
    OCV_TRY(cache_new(CHILDREN_MAX, CHILDREN_BYTES, &m->children, err));
    OCV_TRY(cache_new(RESPONSES_MAX, RESPONSES_BYTES, &m->responses, err));
    OCV_TRY(cache_new(SIZES_MAX, SIZES_BYTES, &m->sizes, err));
    OCV_TRY(cache_new(CONFIGS_MAX, CONFIGS_BYTES, &m->configs, err));
    OCV_TRY(cache_new(TRUSTED_MAX, TRUSTED_BYTES, &m->trusted, err));
    OCV_TRY(cache_new(REFUSED_MAX, REFUSED_BYTES, &m->refused, err));
    m->private = calloc(settings->n_upstreams + 1, sizeof(*m->private));
    m->denied = calloc(2 * settings->n_upstreams + 1, sizeof(*m->denied));
    if (!m->private || !m->denied)
        return ocv_error_nomem(err);
    if (settings->tag_rules)
        OCV_TRY(rules_load_from(settings->datadir, settings->config, NULL, &m->rules, err));
    for (size_t i = 0; i < settings->n_upstreams; i++)
        m->private[i] = clients_private(m->clients, &settings->upstreams[i]);
    trust_remember(m);
    *out = ocv_steal(&m);
    return OCV_OK;
}

void mirror_stop(struct mirror *m)
{
    if (m->clients)
        clients_interrupt(m->clients);
    waiting_stop(m);
}

void mirror_free(struct mirror *m)
{
    if (!m)
        return;
    mirror_stop(m);
    workers_free(m->workers);
    clients_free(m->clients);
    cache_free(m->choices);
    cache_free(m->tags);
    cache_free(m->children);
    cache_free(m->responses);
    cache_free(m->sizes);
    cache_free(m->configs);
    cache_free(m->trusted);
    cache_free(m->refused);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->tick);
    free(m->private);
    free(m->denied);
    ocv_tag_rules_free(m->rules);
    free(m);
}

bool mirror_idle(const struct mirror *m)
{
    return workers_busy(m->workers) == 0;
}

static enum MHD_Result pass_through(struct mirror_request *r)
{
    return passthrough_start(r) ? MHD_YES : answer_busy(r);
}

/* Answer at once if the route suffices, else ask upstream. */
static enum MHD_Result begin_request(struct mirror_request *r)
{
    switch (r->route.kind) {
    case ROUTE_BASE:
        return answer_base(r);
    case ROUTE_NO_SUCH:
        return answer_error(r, 404, OUTCOME_BAD_REQUEST, "UNSUPPORTED", "no such URL here");
    case ROUTE_BAD_NAME:
        return answer_error(r, 404, OUTCOME_BAD_REQUEST, "NAME_INVALID",
                            "malformed repository, tag or digest");
    case ROUTE_UNKNOWN_REGISTRY:
        return answer_error(r, 404, OUTCOME_UNKNOWN_REGISTRY, "NAME_UNKNOWN",
                            "this registry is not configured here");
    case ROUTE_NO_MEMORY:
        return answer_busy(r);
    case ROUTE_TAG: {
        if (r->route.view == VIEW_RAW)
            return pass_through(r);
        /* A tag is passed through unless variants are chosen in its repository. Under `shadow` the
         * choice is looked up separately, and the answer does not wait for it. */
        const struct ocv_config *config = r->mirror->settings->config;
        enum ocv_choose choose =
            ocv_config_choose(ocv_config_for_reference(config, r->route.reference));
        if (choose == OCV_CHOOSE_ON)
            return flight_join(r, NULL) ? MHD_YES : answer_busy(r);
        r->passed_as = choose == OCV_CHOOSE_OFF ? OUTCOME_OFF : OUTCOME_SHADOW;
        if (choose == OCV_CHOOSE_SHADOW)
            flight_shadow(r);
        if (r->route.view == VIEW_RESOLVER)
            return answer_error(r, 404, r->passed_as, "MANIFEST_UNKNOWN", MIRROR_ORDINARY);
        return pass_through(r);
    }
    default:
        if (r->route.view != VIEW_RESOLVER)
            return pass_through(r);
        return answer_error(r, 404, OUTCOME_NOT_OURS,
                            r->route.kind == ROUTE_BLOB ? "BLOB_UNKNOWN" : "MANIFEST_UNKNOWN",
                            "only tags are answered here");
    }
}

static enum MHD_Result answer_or_wait(struct mirror_request *r)
{
    pthread_mutex_lock(&r->mirror->lock);
    bool late = r->late;
    pthread_mutex_unlock(&r->mirror->lock);
    if (r->pass)
        return passthrough_answer(r);
    if (late)
        return answer_late(r);
    if (!r->result)
        return answer_busy(r); /* out of memory */

    /* a tag's look-up is done */
    const struct lookup_result *v = r->result;
    bool resolver = r->route.view == VIEW_RESOLVER;
    if (v->outcome == OUTCOME_VARIANT && accepts(r->connection, v->child.media_type)) {
        const struct lookup_result *tag = r->first ? r->first : v;
        if (r->head || v->document)
            return answer_child(r, tag, v->document);
        /* a HEAD did the look-up; only this GET needs the bytes */
        if (r->first)
            return answer_busy(r);
        r->first = r->result;
        r->result = NULL;
        return flight_join(r, &r->first->child) ? MHD_YES : answer_busy(r);
    }
    if (v->outcome == OUTCOME_VARIANT && resolver)
        return answer_error(r, 404, OUTCOME_ORDINARY, "MANIFEST_UNKNOWN",
                            "the client does not accept the chosen image's type");
    if (!resolver && (v->pass_through || v->outcome == OUTCOME_VARIANT)) {
        /* A proxy passes the chosen image through by its digest, since the tag may have moved. */
        bool known = *v->top.media_type && v->top.size >= 0;
        if (v->outcome == OUTCOME_MISSING || v->outcome == OUTCOME_NO_FIT)
            r->passed_as =
                v->outcome; /* the client gets upstream's answer; the log has this outcome */
        if (!*v->top.digest)
            return answer_error(r, 404, OUTCOME_MISSING, "MANIFEST_UNKNOWN", "not found upstream");
        if (r->head && known && accepts(r->connection, v->top.media_type))
            return answer_top(r, v);
        struct ocv_reference *chosen = r->route.reference;
        free(chosen->digest);
        chosen->digest = strdup(v->top.digest);
        return chosen->digest ? pass_through(r) : answer_busy(r);
    }
    return answer_nothing(r, v);
}

enum MHD_Result mirror_handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    struct mirror *m = cls;
    enum MHD_Result result;
    (void)upload;
    bool reading = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    if (!*request && reading) {
        *request = &marker;
        return MHD_YES;
    }
    if (*upload_size) /* no body is expected */
        return MHD_NO;
    if (*request && *request != &marker)
        return answer_or_wait(*request);
    int64_t now = ocv_clock_us();
    if (reading && m->settings->tag_ttl_ms > 0 &&
        answer_from_cache(m, connection, url, method, now, &result))
        return result;
    struct mirror_request *r = calloc(1, sizeof(*r));
    const char *ns = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "ns");
    if (!r || (ns && !(r->ns = strdup(ns)))) {
        free(r);
        return MHD_NO;
    }
    r->mirror = m;
    r->connection = connection;
    r->url = url;
    r->method = method;
    r->head = !strcmp(method, "HEAD");
    r->chunks = !strcmp(version, MHD_HTTP_VERSION_1_1);
    r->started_us = now;
    r->outcome = OUTCOME_CLIENT_GONE;
    r->passed_as = OUTCOME_PASSED;
    route_parse(m->settings, url, ns, &r->route);
    *request = r;
    if (!reading)
        return answer_error(r, 405, OUTCOME_WRITE, "UNSUPPORTED", "this registry is read only");
    return begin_request(r);
}

void mirror_completed(void *cls, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why)
{
    struct mirror_request *r = *request;
    *request = NULL;
    if (!r || (void *)r == &marker)
        return;
    passthrough_leave(r); /* logs the number of bytes sent */
    struct log_request line = {
        .status = r->status,
        .outcome = why == MHD_REQUEST_TERMINATED_COMPLETED_OK ? r->outcome : OUTCOME_CLIENT_GONE,
        .label = r->label,
        .bytes = r->bytes,
        .us = ocv_clock_us() - r->started_us};
    log_answer(cls, connection, r->method, r->url, &line);
    refcounted_unref(r->result);
    refcounted_unref(r->first);
    route_clear(&r->route);
    free(r->ns);
    free(r);
}
