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

static int find_index(const struct mirror *m, const struct source *from,
                      const struct ocv_reference *reference, struct ocv_index **out,
                      size_t *reading, struct ocv_error *err)
{
    struct document *document = NULL;
    metrics_upstream(m->metrics, "get");
    int missing = upstream_get(from, reference, NULL, &document, err);
    if (missing < 0 && !(missing == OCV_ERR_NOT_FOUND && variants_by_rule(m, reference)))
        return missing;
    *reading = document ? document->body.len : 0;
    budget_read_begin(*reading);
    int status = variants_find(m, from, reference, document, out, err);
    /* an ordinary image is decided about too: by its index, or by an index made of it alone */
    if (status == OCV_OK && !*out)
        status = document ? index_walk(from, reference, document, true, out, err) : missing;
    if (status == OCV_OK && !*out)
        status = ocv_index_of_manifest(&document->descriptor, out, err);
    if (status < 0)
        index_done(out, *reading);
    refcounted_unref(document);
    return status;
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

static int decide_index(const struct mirror *m, const char *text, const struct ocv_index *index,
                        struct ocv_buffer *json, struct ocv_error *err)
{
    const ocv_auto(snapshot) snapshot = node_get(m->node);
    ocv_auto(ocv_reference) reference = settings_reference(text);
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(m->settings->config, reference)};
    ocv_auto(ocv_decision) decision = NULL;
    OCV_TRY(ocv_resolve(index, snapshot->profile, &options, &decision, err));
    return ocv_decision_format_json(decision, json, err);
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

int index_at(struct mirror *m, const char *text, bool trusted, struct ocv_index **index,
             size_t *reading, struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    const struct upstream *upstream = NULL;
    struct source from;
    OCV_TRY(name_parse(m, text, &reference, &upstream, err));
    OCV_TRY(source_open(m, upstream, trusted, &from, err));
    int status = find_index(m, &from, reference, index, reading, err);
    source_close(m, &from, trusted, status);
    return status;
}

int mirror_resolve(struct mirror *m, const char *text, bool trusted, struct ocv_buffer *json,
                   struct ocv_error *err)
{
    struct ocv_index *index = NULL;
    size_t reading;
    int status = index_at(m, text, trusted, &index, &reading, err);
    if (status < 0)
        return status;
    status = decide_index(m, text, index, json, err);
    index_done(&index, reading);
    return status;
}
