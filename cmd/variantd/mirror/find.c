/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For /v1/verdict: describes a digest by the index at a name, by a cached index, or by the image's
 * own configuration. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

int mirror_describe(struct mirror *m, const char *text, const struct ocv_index *index,
                    const char *own, const char *digest, struct ocv_fit_place *out,
                    struct ocv_error *err)
{
    /* `text` may be a repository alone, which has no tag that could be denied */
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences(settings_for_text(m->settings, text))};
    const ocv_auto(snapshot) snapshot = node_get(m->node);
    return ocv_fit_in_index(index, own, digest, snapshot->profile, &options, out, err);
}

int mirror_find(struct mirror *m, const char *text, const char *digest, bool trusted,
                struct ocv_fit_place *out, struct ocv_error *err)
{
    struct ocv_index *index = NULL;
    size_t reading;
    int status = index_at(m, text, trusted, false, &index, &reading, err);
    if (status < 0)
        return status;
    status = mirror_describe(m, text, index, ocv_index_digest(index), digest, out, err);
    index_done(&index, reading);
    return status;
}

#define CONFIG_BYTES (1024u * 1024) /* its tree may take 50 times that */

static int read_labels(const struct source *from, const struct ocv_reference *reference,
                       struct ocv_fit_place *out, struct ocv_error *err)
{
    struct document *document = NULL;
    struct ocv_descriptor which = {0}; /* stays empty if it is not an image */
    OCV_TRY(upstream_get(from, reference, NULL, &document, err));
    const struct ocv_buffer *body = &document->body;
    const char *type = *document->descriptor.media_type ? document->descriptor.media_type : NULL;
    enum ocv_document_kind kind;
    ocv_auto(ocv_manifest) manifest = NULL;
    budget_read_begin(body->len);
    int status = ocv_document_kind(body->data, body->len, type, &kind, err);
    if (status == OCV_OK && kind == OCV_DOCUMENT_MANIFEST)
        status = ocv_manifest_parse(body->data, body->len, type, &manifest, err);
    if (status == OCV_OK && manifest)
        which = *ocv_manifest_config(manifest);
    ocv_manifest_free(manifest);
    manifest = NULL;
    budget_read_end(body->len);
    refcounted_unref(document);
    if (status < 0 || !*which.digest)
        return status;

    ocv_auto_buffer config;
    ocv_buffer_init(&config, CONFIG_BYTES);
    OCV_TRY(ocv_registry_get_blob(client_registry(from->client), reference, &which, &config, err));
    budget_read_begin(config.len);
    json_t *root = ocv_json_load_any(config.data, config.len, OCV_JSON_VALUES_MAX,
                                     JSON_REJECT_DUPLICATES, NULL);
    const json_t *labels = json_object_get(json_object_get(root, "config"), "Labels");
    const struct ocv_record said = {.label = ocv_json_text(labels, OCV_ANNOTATION_LABEL),
                                    .properties = ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES)};
    out->found = said.label && said.properties && strlen(said.label) < LABEL_BYTES &&
                 strlen(said.properties) <= OCV_ENTRY_PROPERTIES_BYTES_MAX;
    status = out->found ? ocv_record_copy(&said, &out->said, err) : OCV_OK;
    json_decref(root);
    budget_read_end(config.len);
    return status;
}

int mirror_labels(struct mirror *m, const char *text, bool trusted, struct ocv_fit_place *out,
                  struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    const struct upstream *upstream = NULL;
    struct source from;
    int status = name_parse(m, text, &reference, &upstream, err);
    if (status < 0 || upstream->layout) /* a layout has its indexes, and needs no labels */
        return status;
    OCV_TRY(source_open(m, upstream, trusted, &from, err));
    metrics_raise(m->metrics, METRICS_UPSTREAM, "get", NULL, 1);
    status = read_labels(&from, reference, out, err);
    source_close(m, &from, trusted, status);
    return status;
}
