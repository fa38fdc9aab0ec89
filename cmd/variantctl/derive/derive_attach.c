/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

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

static int write_all(struct place *place, const struct manifest_doc *child,
                     const struct ocv_buffer *findings, char digest[OCV_DIGEST_MAX],
                     struct ocv_error *err)
{
    struct ocv_descriptor config, layer, artifact, subject = child->descriptor;
    subject.size = (int64_t)child->body.len;
    OCV_TRY(describe_bytes(EMPTY_TYPE, EMPTY_BYTES, strlen(EMPTY_BYTES), &config, err));
    OCV_TRY(describe_bytes(OCV_CONTENT_MEDIA_TYPE, findings->data, findings->len, &layer, err));
    OCV_TRY(write_blob(place, EMPTY_BYTES, &config, err));
    OCV_TRY(write_blob(place, findings->data, &layer, err));

    ocv_auto_json *root =
        json_pack("{s:i, s:s, s:s, s:o, s:[o], s:o}", "schemaVersion", 2, "mediaType",
                  OCV_MEDIA_TYPE_MANIFEST, "artifactType", OCV_CONTENT_MEDIA_TYPE, "config",
                  descriptor_json(&config), "layers", descriptor_json(&layer), "subject",
                  descriptor_json(&subject));
    ocv_auto_free char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (!text)
        return ocv_error_nomem(err);
    OCV_TRY(describe_bytes(OCV_MEDIA_TYPE_MANIFEST, text, strlen(text), &artifact, err));
    OCV_TRY(place_put(place, NULL, &artifact, text, strlen(text), err));

    /* its entry in the subject's list of referrers */
    ocv_auto_json *added = json_array();
    json_t *entry = descriptor_json(&artifact);
    json_object_set_new(entry, "artifactType", json_string(OCV_CONTENT_MEDIA_TYPE));
    if (!added || json_array_append_new(added, entry) < 0)
        return ocv_error_nomem(err);
    memcpy(digest, artifact.digest, sizeof(artifact.digest));
    return note_referrers(place, subject.digest, added, err);
}

int derive_attach(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_content_report *report, char digest[OCV_DIGEST_MAX],
                  struct ocv_error *err)
{
    ocv_auto_buffer findings;
    ocv_buffer_init(&findings, OCV_CONTENT_REPORT_MAX);
    struct place place = {.cli = cli,
                          .reference = image->reference,
                          .name = image->reference ? image->reference->name
                                                   : (char *)(uintptr_t)image->text};
    int status = ocv_content_report_write(report, &findings, err);
    if (status >= 0 && image->layout) {
        place.dir = (char *)(uintptr_t)ocv_layout_path(image->layout);
        status = place_prepare(&place, err);
    }
    if (status >= 0)
        status = write_all(&place, child, &findings, digest, err);
    ocv_layout_free(place.layout);
    return status < 0 ? ocv_error_prefix(err, "--attach: %s", image->text) : OCV_OK;
}
