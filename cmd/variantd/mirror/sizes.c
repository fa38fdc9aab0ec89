/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of documents and blobs. A document that was received and checked has a known size. The size
 * of a blob comes from manifests that were passed through and checked: a registry that sends a blob
 * without its length may never end, and clients may not check. These are upper bounds, kept per
 * repository, so a false size in one does not affect another. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/core/core_internal.h"

#include <stdlib.h>

struct size {
    struct refcounted item;
    struct bounds bounds;
};

bool sizes_find(const struct mirror *mirror, const struct ocv_reference *reference,
                const char *digest, struct bounds *out)
{
    struct key key;
    object_key(0, reference->name, digest, &key); /* of no identity */
    struct size *known = cache_find(mirror->sizes, &key);
    *out = known ? known->bounds : (struct bounds){0};
    refcounted_unref(known);
    return known;
}

static void keep_size(const struct mirror *mirror, const struct ocv_reference *reference,
                      const char *digest, struct bounds bounds)
{
    struct key key;
    struct size *size = calloc(1, sizeof(*size));
    if (!size)
        return;
    refcounted_init(&size->item, NULL);
    size->bounds = bounds;
    object_key(0, reference->name, digest, &key); /* of no identity */
    cache_keep(mirror->sizes, &key, size, sizeof(*size));
    refcounted_unref(size);
}

void sizes_learn_own(const struct mirror *mirror, const struct ocv_reference *reference,
                     const char *digest, size_t len)
{
    struct bounds known;
    if (!sizes_find(mirror, reference, digest, &known) || !known.checked)
        keep_size(mirror, reference, digest, (struct bounds){(int64_t)len, (int64_t)len, true});
}

/* If two manifests disagree, either may be wrong. */
static void learn_sizes(const struct mirror *mirror, const struct ocv_reference *reference,
                        const struct ocv_descriptor *blob)
{
    struct bounds known;
    if (!sizes_find(mirror, reference, blob->digest, &known))
        known.least = known.most = blob->size;
    else if (known.checked || (blob->size >= known.least && blob->size <= known.most))
        return;
    known.least = blob->size < known.least ? blob->size : known.least;
    known.most = blob->size > known.most ? blob->size : known.most;
    keep_size(mirror, reference, blob->digest, known);
}

void sizes_learn(const struct mirror *mirror, const struct ocv_reference *reference,
                 const char *media_type, const struct ocv_buffer *body)
{
    ocv_auto(ocv_manifest) manifest = NULL;
    if (!ocv_media_type_is_manifest(media_type))
        return;
    budget_read_begin(body->len);
    if (ocv_manifest_parse(body->data, body->len, media_type, &manifest, NULL) == OCV_OK) {
        learn_sizes(mirror, reference, ocv_manifest_config(manifest));
        for (size_t i = 0; i < ocv_manifest_layer_count(manifest); i++)
            learn_sizes(mirror, reference, ocv_manifest_layer(manifest, i));
    }
    ocv_manifest_free(manifest);
    manifest = NULL;
    budget_read_end(body->len);
}
