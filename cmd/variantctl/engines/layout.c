/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An OCI layout. */
#include "cmd/common/image/nested_index.h"
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct layout_walk {
    const struct engine_walk *walk;
    const struct ocv_layout *layout;
};

static json_t *blob_json(const struct ocv_layout *layout, const char *digest)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, digest, &text, NULL) < 0)
        return NULL;
    return ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES,
                             NULL);
}

/* The image index that the descriptor names, with the images of those in it, or NULL. */
static struct ocv_index *blob_index(const struct ocv_layout *layout,
                                    const struct ocv_descriptor *descriptor)
{
    ocv_auto_buffer text;
    ocv_auto(ocv_index) index = NULL;
    struct ocv_index *flat = NULL;
    enum ocv_document_kind kind;
    const struct nested_place place = {.layout = layout};
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, descriptor->digest, &text, NULL) < 0 ||
        ocv_document_kind(text.data, text.len, descriptor->media_type, &kind, NULL) < 0 ||
        kind != OCV_DOCUMENT_INDEX ||
        ocv_index_parse(text.data, text.len, descriptor->media_type, &index, NULL) < 0)
        return NULL;
    if (nested_place_walk(&place, index, false, &flat, NULL) < 0)
        return NULL;
    return flat ? flat : ocv_steal(&index);
}

static int visit_layout(void *data, const char *tag, const char *image_name,
                        const struct ocv_descriptor *descriptor)
{
    const struct layout_walk *w = data;
    const struct engine_walk *walk = w->walk;
    char child[OCV_DIGEST_MAX] = "";
    ocv_auto(ocv_index) index = blob_index(w->layout, descriptor);
    bool variants = index && ocv_index_has_variants(index);
    ocv_auto(ocv_decision) decision = NULL;
    const struct ocv_entry *entry = NULL; /* without variants: what this platform takes */
    if (index && !variants && ocv_resolve(index, walk->profile, NULL, &decision, NULL) == OCV_OK)
        entry = ocv_decision_selected(decision);
    if (entry)
        snprintf(child, sizeof(child), "%s", entry->digest);
    ocv_auto_json *manifest = blob_json(w->layout, *child ? child : descriptor->digest);
    const char *config_digest = ocv_json_text(json_object_get(manifest, "config"), "digest");
    ocv_auto_json *config = config_digest ? blob_json(w->layout, config_digest) : NULL;
    const json_t *labels = json_object_get(json_object_get(config, "config"), "Labels");
    const char *digests[] = {*child ? child : descriptor->digest, descriptor->digest};
    const struct local_image found = {.where = walk->where,
                                      .name = image_name ? image_name : tag,
                                      .tag = tag,
                                      .digests = digests,
                                      .n_digests = *child ? 2 : 1,
                                      .label = ocv_json_text(labels, OCV_ANNOTATION_LABEL),
                                      .properties =
                                          ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES),
                                      .config = config,
                                      .index = variants ? index : NULL};
    return walk->visit(walk->data, &found);
}

static int layout_images(struct engine_walk *walk, struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    OCV_TRY(ocv_layout_open(walk->where + strlen("oci:"), 0, &layout, err));
    struct layout_walk w = {walk, layout};
    return ocv_layout_list(layout, visit_layout, &w, err);
}

const struct engine engine_layout = {.name = "oci", .argument = "DIR", .images = layout_images};
