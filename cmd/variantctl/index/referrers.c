/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies referrers: signatures, SBOMs and other artifacts whose subject is the image. cosign before
 * version 3 used its own tags. */
#include "cmd/variantctl/index/index_verbs.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

#define DEPTH_MAX 3u /* a signature of an SBOM of an image */

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
        const json_t *entry = json_array_get(found, i);
        const char *type = ocv_json_text(entry, "mediaType"),
                   *name = ocv_json_text(entry, "digest");
        if (!type || !name || !ocv_digest_known(name) || strlen(type) >= sizeof(d.media_type))
            return ocv_error_set(err, OCV_ERR_DATA, "a malformed referrer");
        snprintf(d.media_type, sizeof(d.media_type), "%s", type);
        snprintf(d.digest, sizeof(d.digest), "%s", name);
        d.size = json_integer_value(json_object_get(entry, "size"));
        OCV_TRY(copier_tree(copier, from, &d, 1, err));
        if (depth + 1 < DEPTH_MAX)
            OCV_TRY(copy_level(copier, from, d.digest, depth + 1, err));
    }
    if (json_array_size(found))
        OCV_TRY(note_referrers(copier->to, digest, found, err));
    /* Tags of cosign versions older than referrers. */
    static const char *const suffixes[] = {".sig", ".att", ".sbom"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        char tag[136];
        struct ocv_descriptor d;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        referrers_tag(digest, tag);
        strncat(tag, suffixes[i], sizeof(tag) - strlen(tag) - 1);
        int status = place_get(&source, tag, &body, &d, err);
        if (status == OCV_ERR_NOT_FOUND)
            continue;
        if (status < 0)
            return status;
        if (!d.media_type[0])
            snprintf(d.media_type, sizeof(d.media_type), "%s", OCV_MEDIA_TYPE_MANIFEST);
        OCV_TRY(copier_tree(copier, from, &d, 0, err));
        OCV_TRY(place_put(copier->to, tag, &d, body.data, body.len, err));
    }
    return OCV_OK;
}

int copy_referrers(struct copier *copier, const struct image *from, const char *digest,
                   struct ocv_error *err)
{
    int status = copy_level(copier, from, digest, 0, err);
    return status < 0 ? ocv_error_prefix(err, "what refers to %s", digest) : OCV_OK;
}
