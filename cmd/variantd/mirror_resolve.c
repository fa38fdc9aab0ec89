/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/resolve: the decision about a reference, with every reason. */
#include "mirror_internal.h"

#include <string.h>

static int fetch(struct mirror *m, const struct upstream *upstream,
                 const struct ocv_reference *reference, bool trusted, struct document **out,
                 struct ocv_error *err)
{
    bool private = m->private[upstream - m->settings->upstreams];
    enum identity identity = private && trusted ? IDENTITY_DAEMON : IDENTITY_ANONYMOUS;
    struct client *client = NULL;
    if (upstream->layout)
        return upstream_get(upstream, NULL, reference, NULL, out, err);
    int status = client_take(m->clients, identity, PATIENCE_DOCUMENT, &client, err);
    if (status < 0)
        return status;
    ocv_registry_deadline(client_registry(client), FLIGHT_MS);
    metrics_upstream(m->metrics, "get");
    status = upstream_get(upstream, client, reference, NULL, out, err);
    client_give(client, status);
    return status;
}

/* An ordinary image is decided about, too: as an index of one, or as its index. */
static int index_of(const struct mirror *m, const struct ocv_reference *reference,
                    const struct document *document, struct ocv_index **out, struct ocv_error *err)
{
    const char *type = document->descriptor.media_type;
    enum ocv_document_kind kind;
    int status = variants_find(m, reference, document, out, err);
    if (status < 0 || *out)
        return status;
    status =
        ocv_document_kind(document->body.data, document->body.len, *type ? type : NULL, &kind, err);
    if (status < 0)
        return status;
    return kind == OCV_DOCUMENT_INDEX ? ocv_index_parse(document->body.data, document->body.len,
                                                        *type ? type : NULL, out, err)
                                      : ocv_index_of_manifest(&document->descriptor, out, err);
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

int mirror_resolve(struct mirror *m, const char *text, bool trusted, struct ocv_buffer *json,
                   struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_index) index = NULL;
    struct document *document = NULL;
    int status = ocv_reference_parse(text, &reference, err);
    if (status < 0)
        return status;
    const struct upstream *upstream = settings_upstream(m->settings, reference->host);
    if (!upstream)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: the registry is not configured here",
                             reference->name);
    status = fetch(m, upstream, reference, trusted, &document, err);
    if (status == OCV_OK)
        status = index_of(m, reference, document, &index, err);
    if (status == OCV_OK)
        status = decide(m, index, json, err);
    item_put(document);
    return status;
}
