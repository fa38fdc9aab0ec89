/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/resolve: the decision about a reference, with every reason. */
#include "judge.h"
#include "mirror_internal.h"

#include <stdio.h>
#include <string.h>

/* An ordinary image is decided about, too: as its index, or as an index of one. */
static int plain_index(const struct document *document, struct ocv_index **out,
                       struct ocv_error *err)
{
    const struct ocv_buffer *body = &document->body;
    const char *type = *document->descriptor.media_type ? document->descriptor.media_type : NULL;
    enum ocv_document_kind kind;
    int status = ocv_document_kind(body->data, body->len, type, &kind, err);
    if (status < 0)
        return status;
    return kind == OCV_DOCUMENT_INDEX ? ocv_index_parse(body->data, body->len, type, out, err)
                                      : ocv_index_of_manifest(&document->descriptor, out, err);
}

static int find_index(const struct mirror *m, const struct source *from,
                      const struct ocv_reference *reference, struct ocv_index **out,
                      struct ocv_error *err)
{
    struct document *document = NULL;
    metrics_upstream(m->metrics, "get");
    int missing = upstream_get(from, reference, NULL, &document, err);
    if (missing < 0 && !(missing == OCV_ERR_NOT_FOUND && variants_by_rule(m, reference)))
        return missing;
    int status = variants_find(m, from, reference, document, out, err);
    if (status == OCV_OK && !*out)
        status = document ? plain_index(document, out, err) : missing;
    item_put(document);
    return status;
}

static int fetch(struct mirror *m, const struct upstream *upstream,
                 const struct ocv_reference *reference, bool trusted, struct ocv_index **out,
                 struct ocv_error *err)
{
    bool private = m->private[upstream - m->settings->upstreams];
    enum identity identity = private && trusted ? IDENTITY_DAEMON : IDENTITY_ANONYMOUS;
    struct source from = {.upstream = upstream};
    int status = OCV_OK;
    if (!upstream->layout) {
        status = client_take(m->clients, identity, PATIENCE_DOCUMENT, &from.client, err);
        if (status < 0)
            return status;
        ocv_registry_deadline(client_registry(from.client), FLIGHT_MS);
    }
    status = find_index(m, &from, reference, out, err);
    client_give(from.client, status);
    return status;
}

static int decide(const struct mirror *m, const struct ocv_index *index, struct ocv_buffer *json,
                  struct ocv_error *err)
{
    const struct snapshot *snapshot = node_get(m->node);
    struct ocv_resolve_options options = {.config = m->settings->config};
    ocv_auto(ocv_decision) decision = NULL;
    int status = ocv_resolve(index, snapshot->profile, &options, &decision, err);
    if (status == OCV_OK)
        status = ocv_decision_format_json(decision, json, err);
    ocv_decision_free(decision);
    decision = NULL;
    node_put(snapshot);
    return status;
}

/* The index at a name. */
static int index_at(struct mirror *m, const char *text, bool trusted, struct ocv_index **index,
                    struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    int status = ocv_reference_parse(text, &reference, err);
    if (status < 0)
        return status;
    const struct upstream *upstream = settings_upstream(m->settings, reference->host);
    if (!upstream)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: the registry is not configured here",
                             reference->name);
    return fetch(m, upstream, reference, trusted, index, err);
}

int mirror_resolve(struct mirror *m, const char *text, bool trusted, struct ocv_buffer *json,
                   struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    int status = index_at(m, text, trusted, &index, err);
    return status < 0 ? status : decide(m, index, json, err);
}

int mirror_find(struct mirror *m, const char *text, const char *digest, bool trusted,
                struct mirror_entry *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    const struct ocv_resolve_options options = {.config = m->settings->config};
    int status = index_at(m, text, trusted, &index, err);
    const struct snapshot *snapshot = node_get(m->node);
    if (status == OCV_OK)
        status = ocv_resolve(index, snapshot->profile, &options, &decision, err);
    if (status == OCV_OK) {
        const struct ocv_entry *selected = ocv_decision_selected(decision);
        const struct ocv_entry *entry = digest ? ocv_index_find_digest(index, digest) : NULL;
        out->variants = ocv_index_has_variants(index);
        out->is_index = digest && strcmp(ocv_index_digest(index), digest) == 0;
        if (selected)
            snprintf(out->fit, sizeof(out->fit), "%s", selected->label ? selected->label : "");
        if (entry && entry->code == OCV_REJECT_NONE) {
            out->found = true;
            snprintf(out->label, sizeof(out->label), "%s", entry->label ? entry->label : "");
            status = judge_describe(index, entry, &out->properties, &out->statics, err);
        }
    }
    ocv_decision_free(decision);
    decision = NULL;
    node_put(snapshot);
    return status;
}
