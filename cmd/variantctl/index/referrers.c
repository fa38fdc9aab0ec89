/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies referrers: signatures, SBOMs and other artifacts whose subject is the image. cosign before
 * version 3 used its own tags. */
#include "cmd/variantctl/index/index_verbs.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

#define DEPTH_MAX 3u /* a signature of an SBOM of an image */

static int descriptor_of(const json_t *entry, struct ocv_descriptor *out, struct ocv_error *err)
{
    const char *type = ocv_json_text(entry, "mediaType");
    const char *digest = ocv_json_text(entry, "digest");
    if (!type || !digest || !ocv_digest_known(digest) || strlen(type) >= sizeof(out->media_type))
        return ocv_error_set(err, OCV_ERR_DATA, "a malformed referrer");
    snprintf(out->media_type, sizeof(out->media_type), "%s", type);
    snprintf(out->digest, sizeof(out->digest), "%s", digest);
    out->size = json_integer_value(json_object_get(entry, "size"));
    return OCV_OK;
}

/* Tags of cosign versions older than referrers. */
static int copy_tags(struct copier *copier, const struct image *from, struct place *source,
                     const char *digest, struct ocv_error *err)
{
    static const char *const suffixes[] = {".sig", ".att", ".sbom"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        char tag[136];
        struct ocv_descriptor d;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        referrers_tag(digest, tag);
        strncat(tag, suffixes[i], sizeof(tag) - strlen(tag) - 1);
        int status = place_get(source, tag, &body, &d, err);
        if (status == OCV_ERR_NOT_FOUND)
            continue;
        if (status < 0)
            return status;
        if (!d.media_type[0])
            snprintf(d.media_type, sizeof(d.media_type), "%s", OCV_MEDIA_TYPE_MANIFEST);
        OCV_TRY(copier_tree(copier, from, &d, err));
        OCV_TRY(place_put(copier->to, tag, &d, body.data, body.len, err));
    }
    return OCV_OK;
}

static int copy_level(struct copier *copier, const struct image *from, const char *digest,
                      unsigned depth, struct ocv_error *err)
{
    struct place source = {.cli = copier->cli,
                           .reference = from->reference,
                           .layout = from->layout,
                           .name = from->reference ? from->reference->name : (char *)from->text};
    ocv_auto_json *found = json_array();
    bool source_api;
    OCV_TRY(list_referrers(&source, digest, &source_api, found, err));
    for (size_t i = 0; i < json_array_size(found); i++) {
        struct ocv_descriptor d;
        OCV_TRY(descriptor_of(json_array_get(found, i), &d, err));
        OCV_TRY(copier_document(copier, from, &d, err));
        if (depth + 1 < DEPTH_MAX)
            OCV_TRY(copy_level(copier, from, d.digest, depth + 1, err));
    }
    if (json_array_size(found))
        OCV_TRY(note_referrers(copier->to, digest, found, err));
    return copy_tags(copier, from, &source, digest, err);
}

int copy_referrers(struct copier *copier, const struct image *from, const char *digest,
                   struct ocv_error *err)
{
    int status = copy_level(copier, from, digest, 0, err);
    return status < 0 ? ocv_error_prefix(err, "what refers to %s", digest) : OCV_OK;
}
