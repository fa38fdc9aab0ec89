/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/resolve: the decision about a reference, with all reasons. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>

void index_done(struct ocv_index **index, size_t reading)
{
    ocv_index_free(*index);
    *index = NULL;
    budget_read_end(reading);
}

static void ask_end(struct mirror *m, const struct upstream *upstream, bool trusted)
{
    pthread_mutex_lock(&m->lock);
    m->asks[trusted].all--;
    m->asks[trusted].of[upstream - m->settings->upstreams]--;
    pthread_mutex_unlock(&m->lock);
}

int source_open(struct mirror *m, const struct upstream *upstream, bool trusted, struct source *out,
                struct ocv_error *err)
{
    bool private = m->private[upstream - m->settings->upstreams];
    enum identity identity = private && trusted ? IDENTITY_DAEMON : IDENTITY_ANONYMOUS;
    *out = (struct source){.upstream = upstream};
    if (upstream->layout)
        return OCV_OK;
    struct asks *asks = &m->asks[trusted];
    size_t *mine = &asks->of[upstream - m->settings->upstreams];
    pthread_mutex_lock(&m->lock);
    bool room = 2 * *mine < MIRROR_ASKS_MAX - (asks->all - *mine);
    if (room) {
        asks->all++;
        ++*mine;
    }
    pthread_mutex_unlock(&m->lock);
    if (!room)
        return ocv_error_set(err, OCV_ERR_NOMEM, "%s: too many references are being resolved",
                             upstream->name);
    int status = client_acquire(m->clients, upstream, identity, PATIENCE_DOCUMENT, FLIGHT_MS,
                                &out->client, err);
    if (status < 0)
        ask_end(m, upstream, trusted);
    return status;
}

void source_close(struct mirror *m, struct source *from, bool trusted, int status)
{
    if (!from->client)
        return;
    client_release(from->client, status);
    from->client = NULL;
    ask_end(m, from->upstream, trusted);
}

int name_parse(const struct mirror *m, const char *text, struct ocv_reference **reference,
               const struct upstream **upstream, struct ocv_error *err)
{
    OCV_TRY(ocv_reference_parse(text, reference, err));
    *upstream = settings_upstream(m->settings, (*reference)->host);
    return *upstream ? OCV_OK
                     : ocv_error_set(err, OCV_ERR_NOT_FOUND,
                                     "%s: the registry is not configured here", (*reference)->name);
}

int index_at(struct mirror *m, const char *text, bool trusted, bool to_serve,
             struct ocv_index **index, size_t *reading, struct ocv_error *err)
{
    char parent[OCV_DIGEST_MAX];
    ocv_auto(ocv_reference) reference = NULL;
    const struct upstream *upstream = NULL;
    struct document *document = NULL;
    struct source from;
    OCV_TRY(name_parse(m, text, &reference, &upstream, err));
    OCV_TRY(source_open(m, upstream, trusted, &from, err));
    metrics_raise(m->metrics, METRICS_UPSTREAM, "get", NULL, 1);
    int missing = upstream_get(&from, reference, NULL, &document, err);
    int status = missing;
    if (missing == OCV_ERR_NOT_FOUND && variants_by_rule(m, reference))
        status = OCV_OK; /* only a tag rule knows this tag */
    bool ruled = variants_by_rule(m, reference);
    if (status == OCV_OK && to_serve && document && !ruled)
        status = trust_check(m, &from, reference, document->descriptor.digest, NULL, err);
    if (status < 0)
        refcounted_unref(document);
    if (status == OCV_OK) {
        *reading = document ? document->body.len : 0;
        budget_read_begin(*reading);
        status = variants_find(m, &from, reference, document, index, parent, err);
        /* an ordinary image is decided about too: by its index, or by an index made of it alone */
        if (status == OCV_OK && !*index)
            status = document ? index_walk(&from, reference, document, true, index, err) : missing;
        if (status == OCV_OK && !*index)
            status = ocv_index_of_manifest(&document->descriptor, index, err);
        /* of a choice by tag rules: what the chosen tag stands for */
        const char *top = *parent ? parent : document ? document->descriptor.digest : NULL;
        if (status == OCV_OK && to_serve && ruled && top) {
            budget_read_end(*reading);
            status = trust_check(m, &from, reference, top, NULL, err);
            budget_read_begin(*reading);
        }
        if (status < 0)
            index_done(index, *reading);
        refcounted_unref(document);
    }
    source_close(m, &from, trusted, status);
    return status;
}

int mirror_resolve(struct mirror *m, const char *text, bool trusted, struct ocv_buffer *json,
                   struct ocv_error *err)
{
    struct ocv_index *index = NULL;
    size_t reading = 0;
    int status = index_at(m, text, trusted, true, &index, &reading, err);
    if (status < 0)
        return status;
    const ocv_auto(snapshot) snapshot = node_get(m->node);
    ocv_auto(ocv_reference) reference = settings_reference(text);
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(m->settings->config, reference)};
    struct ocv_decision *decision = NULL;
    status = ocv_resolve(index, snapshot->profile, &options, &decision, err);
    if (status == OCV_OK)
        status = ocv_decision_format_json(decision, json, err);
    ocv_decision_free(decision);
    index_done(&index, reading);
    return status;
}
