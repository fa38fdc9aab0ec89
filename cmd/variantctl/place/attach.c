/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Artifacts of one document (image-spec, "Guidelines for Artifact Usage"). */
#include "cmd/variantctl/place/place.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

/* image-spec, "Guidance for an Empty Descriptor" */
#define EMPTY_TYPE "application/vnd.oci.empty.v1+json"
#define EMPTY_BYTES "{}"

static json_t *descriptor_json(const struct ocv_descriptor *d)
{
    return json_pack("{s:s, s:s, s:I}", "mediaType", d->media_type, "digest", d->digest, "size",
                     (json_int_t)d->size);
}

static int describe_bytes(const char *type, const void *bytes, size_t len,
                          struct ocv_descriptor *out, struct ocv_error *err)
{
    *out = (struct ocv_descriptor){.size = (int64_t)len};
    snprintf(out->media_type, sizeof(out->media_type), "%s", type);
    return ocv_digest_bytes(bytes, len, out->digest, err);
}

static int write_blob(struct place *place, const void *bytes, struct ocv_descriptor *d,
                      struct ocv_error *err)
{
    if (!place->reference)
        return ocv_layout_write_blob(place->layout, bytes, (size_t)d->size, d->digest, err);
    const struct ocv_push push = {.descriptor = *d, .bytes = bytes, .fd = -1};
    enum ocv_pushed how;
    return ocv_registry_push(place->cli->registry, place->reference, &push, &how, err);
}

int attach_document(struct place *place, const struct ocv_descriptor *subject, const char *type,
                    const struct ocv_buffer *document, char digest[OCV_DIGEST_MAX],
                    struct ocv_error *err)
{
    return attach_layer(place, subject, type, type, document, digest, err);
}

int attach_layer(struct place *place, const struct ocv_descriptor *subject, const char *type,
                 const char *layer_type, const struct ocv_buffer *document,
                 char digest[OCV_DIGEST_MAX], struct ocv_error *err)
{
    struct ocv_descriptor config, layer, artifact;
    OCV_TRY(describe_bytes(EMPTY_TYPE, EMPTY_BYTES, strlen(EMPTY_BYTES), &config, err));
    OCV_TRY(describe_bytes(layer_type, document->data, document->len, &layer, err));
    OCV_TRY(write_blob(place, EMPTY_BYTES, &config, err));
    OCV_TRY(write_blob(place, document->data, &layer, err));

    ocv_auto_json *root =
        json_pack("{s:i, s:s, s:s, s:o, s:[o], s:o}", "schemaVersion", 2, "mediaType",
                  OCV_MEDIA_TYPE_MANIFEST, "artifactType", type, "config", descriptor_json(&config),
                  "layers", descriptor_json(&layer), "subject", descriptor_json(subject));
    ocv_auto_free char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (!text)
        return ocv_error_nomem(err);
    OCV_TRY(describe_bytes(OCV_MEDIA_TYPE_MANIFEST, text, strlen(text), &artifact, err));
    OCV_TRY(place_put(place, NULL, &artifact, text, strlen(text), err));

    /* its entry in the subject's list of referrers */
    ocv_auto_json *added = json_array();
    json_t *entry = descriptor_json(&artifact);
    json_object_set_new(entry, "artifactType", json_string(type));
    if (!added || json_array_append_new(added, entry) < 0)
        return ocv_error_nomem(err);
    memcpy(digest, artifact.digest, sizeof(artifact.digest));
    return note_referrers(place, subject->digest, added, err);
}
