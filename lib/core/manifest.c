/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Image manifests (image-spec manifest.md, Docker schema 2) and the question whether a document is
 * an index or a manifest. The bytes decide; a Content-Type can only contradict them. */
#include "ocivariant/manifest.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LAYERS_MAX 1000u /* containerd and overlayfs stop far below */

struct ocv_manifest {
    struct ocv_descriptor config;
    size_t n_layers;
    struct ocv_descriptor layers[];
};

/* The kind that a media type names, or -1 for one that leaves it open, such as application/json. */
static int kind_of_type(const char *type, size_t len)
{
    static const struct {
        const char *type;
        enum ocv_document_kind kind;
    } known[] = {
        {OCV_MEDIA_TYPE_INDEX, OCV_DOCUMENT_INDEX},
        {OCV_MEDIA_TYPE_MANIFEST, OCV_DOCUMENT_MANIFEST},
        {OCV_MEDIA_TYPE_DOCKER_LIST, OCV_DOCUMENT_INDEX},
        {OCV_MEDIA_TYPE_DOCKER_MANIFEST, OCV_DOCUMENT_MANIFEST},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strlen(known[i].type) == len && strncasecmp(known[i].type, type, len) == 0)
            return (int)known[i].kind;
    return -1;
}

/* Length of a Content-Type without parameters and spaces around it. */
static size_t bare_type(const char **type)
{
    *type += strspn(*type, " \t");
    size_t len = strcspn(*type, ";");
    while (len && ((*type)[len - 1] == ' ' || (*type)[len - 1] == '\t'))
        len--;
    return len;
}

int ocv_document_kind_of(const json_t *root, const char *media_type, enum ocv_document_kind *out,
                         struct ocv_error *err)
{
    bool manifests = json_object_get(root, "manifests") != NULL;
    bool layers = json_object_get(root, "layers") != NULL;
    if (manifests && layers)
        return ocv_error_set(err, OCV_ERR_DATA, "document has both 'manifests' and 'layers'");
    const char *body_type = NULL;
    OCV_TRY(ocv_json_string(root, "document", "mediaType", &body_type, err));
    if (!manifests && !layers) { /* an empty list may be left out where the type is given */
        const char *type = body_type ? body_type : media_type ? media_type : "";
        size_t len = bare_type(&type);
        manifests = kind_of_type(type, len) == (int)OCV_DOCUMENT_INDEX;
        layers = kind_of_type(type, len) == (int)OCV_DOCUMENT_MANIFEST &&
                 json_object_get(root, "config") != NULL;
    }
    if (!manifests && !layers)
        return ocv_error_set(err, OCV_ERR_DATA,
                             json_object_get(root, "fsLayers")
                                 ? "Docker schema 1 manifests are not supported"
                                 : "document is neither an image index nor an image manifest");
    enum ocv_document_kind kind = manifests ? OCV_DOCUMENT_INDEX : OCV_DOCUMENT_MANIFEST;
    if (body_type && kind_of_type(body_type, strlen(body_type)) != (int)kind)
        return ocv_error_set(err, OCV_ERR_DATA, "document says '%.200s' but holds '%s'", body_type,
                             manifests ? "manifests" : "layers");
    if (media_type) {
        size_t len = bare_type(&media_type);
        int said = kind_of_type(media_type, len);
        bool differs = body_type && said >= 0 &&
                       (strlen(body_type) != len || strncasecmp(body_type, media_type, len) != 0);
        if (differs || (said >= 0 && said != (int)kind))
            return ocv_error_set(err, OCV_ERR_DATA, "document was sent as '%.*s' but is %s%.200s",
                                 (int)len, media_type,
                                 manifests ? "an image index " : "an image manifest ",
                                 body_type ? body_type : "");
    }
    *out = kind;
    return OCV_OK;
}

int ocv_document_kind(const void *bytes, size_t len, const char *media_type,
                      enum ocv_document_kind *out, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load_document("document", bytes, len, &root, err));
    return ocv_document_kind_of(root, media_type, out, err);
}

static int read_descriptor(const json_t *json, const char *what, struct ocv_descriptor *out,
                           struct ocv_error *err)
{
    const char *media_type;
    const char *digest;
    OCV_TRY(ocv_json_descriptor(json, what, &media_type, &digest, &out->size, err));
    if (strlen(media_type) >= sizeof(out->media_type))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: mediaType is longer than %zu bytes", what,
                             sizeof(out->media_type) - 1);
    memcpy(out->media_type, media_type, strlen(media_type) + 1);
    memcpy(out->digest, digest, strlen(digest) + 1); /* shorter than OCV_DIGEST_MAX: checked */
    return OCV_OK;
}

int ocv_manifest_parse(const void *bytes, size_t len, const char *media_type,
                       struct ocv_manifest **out, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    enum ocv_document_kind kind = OCV_DOCUMENT_INDEX;
    OCV_TRY(ocv_json_load_document("manifest", bytes, len, &root, err));
    OCV_TRY(ocv_document_kind_of(root, media_type, &kind, err));
    if (kind != OCV_DOCUMENT_MANIFEST)
        return ocv_error_set(err, OCV_ERR_DATA, "an image index where an image manifest is needed");
    if (json_integer_value(json_object_get(root, "schemaVersion")) != 2)
        return ocv_error_set(err, OCV_ERR_DATA, "manifest: schemaVersion is not 2");
    const json_t *layers = json_object_get(root, "layers");
    if (layers && !json_is_array(layers))
        return ocv_error_set(err, OCV_ERR_DATA, "manifest: 'layers' is not an array");
    size_t n = json_array_size(layers);
    if (n > LAYERS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "manifest has more than %u layers", LAYERS_MAX);
    ocv_auto(ocv_manifest) manifest = calloc(1, sizeof(*manifest) + n * sizeof(*manifest->layers));
    if (!manifest)
        return ocv_error_nomem(err);
    manifest->n_layers = n;
    OCV_TRY(read_descriptor(json_object_get(root, "config"), "manifest config", &manifest->config,
                            err));
    for (size_t i = 0; i < n; i++) {
        int status = read_descriptor(json_array_get(layers, i), "layer", &manifest->layers[i], err);
        if (status < 0) {
            ocv_error_prefix(err, "manifest, layer %zu", i);
            return status;
        }
    }
    *out = ocv_steal(&manifest);
    return OCV_OK;
}

void ocv_manifest_free(struct ocv_manifest *manifest)
{
    free(manifest);
}

const struct ocv_descriptor *ocv_manifest_config(const struct ocv_manifest *manifest)
{
    return &manifest->config;
}

size_t ocv_manifest_layer_count(const struct ocv_manifest *manifest)
{
    return manifest->n_layers;
}

const struct ocv_descriptor *ocv_manifest_layer(const struct ocv_manifest *manifest, size_t i)
{
    return i < manifest->n_layers ? &manifest->layers[i] : NULL;
}
