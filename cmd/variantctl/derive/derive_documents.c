/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include "cmd/common/image/document_cache.h"

#include "lib/base/cleanup.h"

#include <string.h>

#define KIND "documents"
#define KEPT_MAX ((size_t)256 << 10) /* larger documents are not cached; most have a few KiB */

/* A cached file that does not match its digest is ignored. */
static bool recall(const struct image *image, const struct ocv_descriptor *wanted,
                   struct ocv_buffer *out)
{
    if (image->layout)
        return false;
    if (digest_cache_read(KIND, wanted->digest, out) &&
        ocv_digest_check(wanted->digest, out->data, out->len, NULL) >= 0)
        return true;
    out->len = 0;
    return false;
}

static void remember(const struct image *image, const struct ocv_descriptor *descriptor,
                     const struct ocv_buffer *bytes)
{
    if (!image->layout && bytes->len <= KEPT_MAX)
        digest_cache_write(KIND, descriptor->digest, bytes);
}

int derive_manifest(struct cli *cli, const struct image *image,
                    const struct ocv_descriptor *descriptor, struct manifest_doc *out,
                    struct ocv_error *err)
{
    *out = (struct manifest_doc){.descriptor = *descriptor};
    ocv_buffer_init(&out->body, OCV_MANIFEST_MAX);
    bool top = !strcmp(descriptor->digest, image->top.digest);
    if (!top && recall(image, descriptor, &out->body) &&
        (uint64_t)descriptor->size == out->body.len &&
        ocv_manifest_parse(out->body.data, out->body.len, descriptor->media_type, &out->manifest,
                           NULL) >= 0)
        return OCV_OK;
    child_free(out);
    OCV_TRY(child_read(cli, image, descriptor, out, err));
    if (!top)
        remember(image, descriptor, &out->body);
    return OCV_OK;
}

int derive_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_buffer *config, struct ocv_error *err)
{
    const struct ocv_descriptor *descriptor = ocv_manifest_config(child->manifest);
    if (recall(image, descriptor, config))
        return OCV_OK;
    OCV_TRY(child_config(cli, image, child, config, err));
    remember(image, descriptor, config);
    return OCV_OK;
}
