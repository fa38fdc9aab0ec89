/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --relabel: writes label and properties into the image itself, for scanners that read config
 * labels and snapshotters that see layer annotations. This makes a different image. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_ANNOTATION "containerd.io/snapshot/" OCV_ANNOTATION_LABEL

static int load_json(const char *what, const struct ocv_buffer *bytes, json_t **out,
                     struct ocv_error *err)
{
    json_error_t e;
    *out =
        ocv_json_load_any(bytes->data, bytes->len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, &e);
    if (!*out)
        return ocv_error_set(err, OCV_ERR_DATA, "%s is not valid JSON: line %d: %s", what, e.line,
                             e.text);
    if (json_is_object(*out))
        return OCV_OK;
    json_decref(*out);
    *out = NULL;
    return ocv_error_set(err, OCV_ERR_DATA, "%s is not a JSON object", what);
}

static int dump_json(const json_t *json, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_free char *text = json_dumps(json, JSON_COMPACT);
    if (!text)
        return ocv_error_nomem(err);
    ocv_buffer_free(out);
    return ocv_buffer_append(out, text, strlen(text), err);
}

int relabel_properties(const struct ocv_edit *document, const struct ocv_properties *properties,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    char key[256];
    for (size_t i = 0; properties && i < ocv_properties_count(properties); i++) {
        struct ocv_property p = ocv_properties_get(properties, i);
        snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.200s", p.ns);
        if (strcmp(p.ns, BUILD_PRIORITY) != 0 && (!document || !ocv_edit_annotation(document, key)))
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s :: %s :: %s", out->len ? ", " : "", p.ns,
                                      p.feature, p.value));
    }
    return OCV_OK;
}

int relabel_child(struct manifest_doc *child, const struct ocv_buffer *old_config,
                  const char *label, const char *properties, struct ocv_buffer *config,
                  struct ocv_error *err)
{
    struct ocv_descriptor *d = &child->descriptor;
    char digest[OCV_DIGEST_MAX];
    ocv_auto_json *image = NULL;
    ocv_auto_json *manifest = NULL;
    ocv_buffer_init(config, OCV_MANIFEST_MAX);
    OCV_TRY(load_json("the image config", old_config, &image, err));
    json_t *labels = ocv_json_object(ocv_json_object(image, "config"), "Labels");
    if (!labels || json_object_set_new(labels, OCV_ANNOTATION_LABEL, json_string(label)) < 0 ||
        json_object_set_new(labels, OCV_ANNOTATION_PROPERTIES, json_string(properties)) < 0)
        return ocv_error_nomem(err);
    OCV_TRY(dump_json(image, config, err));

    OCV_TRY(load_json("the image manifest", &child->body, &manifest, err));
    OCV_TRY(ocv_digest_bytes(config->data, config->len, digest, err));
    json_t *named = json_object_get(manifest, "config");
    json_object_set_new(named, "digest", json_string(digest));
    json_object_set_new(named, "size", json_integer((json_int_t)config->len));
    json_object_del(named, "data");
    const json_t *layers = json_object_get(manifest, "layers");
    json_t *top = json_array_get(layers, json_array_size(layers) - 1);
    /* Docker manifests have no annotations */
    if (top && strcmp(d->media_type, OCV_MEDIA_TYPE_DOCKER_MANIFEST) != 0)
        json_object_set_new(ocv_json_object(top, "annotations"), LAYER_ANNOTATION,
                            json_string(label));
    OCV_TRY(dump_json(manifest, &child->body, err));

    ocv_manifest_free(child->manifest);
    child->manifest = NULL;
    OCV_TRY(ocv_manifest_parse(child->body.data, child->body.len, d->media_type, &child->manifest,
                               err));
    d->size = (int64_t)child->body.len;
    return ocv_digest_bytes(child->body.data, child->body.len, d->digest, err);
}
