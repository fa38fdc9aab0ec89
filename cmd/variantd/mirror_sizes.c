/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How large blobs are, as the manifests say that were handed through and checked: a registry that
 * sends a blob without its length may never end, and a client may not look. A bound, no more: who
 * lies about a blob in one repository reaches no other. */
#include "mirror_internal.h"
#include "room.h"

#include <stdlib.h>

struct size {
    struct item item;
    int64_t bytes;
};

static void free_size(struct item *item)
{
    free(item);
}

static void size_key(const struct ocv_reference *reference, const char *digest, struct key *key)
{
    key_begin(key);
    key_add(key, reference->name);
    key_add(key, digest);
}

int64_t sizes_find(const struct mirror *mirror, const struct ocv_reference *reference,
                   const char *digest)
{
    struct key key;
    size_key(reference, digest, &key);
    struct size *known = memory_find(mirror->sizes, &key);
    int64_t bytes = known ? known->bytes : 0;
    item_put(known);
    return bytes;
}

/* Two manifests that disagree: one of them is wrong, and the smaller bound could harm the other. */
static void learn(const struct mirror *mirror, const struct ocv_reference *reference,
                  const struct ocv_descriptor *blob)
{
    struct key key;
    if (blob->size <= sizes_find(mirror, reference, blob->digest))
        return;
    struct size *size = calloc(1, sizeof(*size));
    if (!size)
        return;
    item_init(&size->item, free_size);
    size->bytes = blob->size;
    size_key(reference, blob->digest, &key);
    memory_keep(mirror->sizes, &key, size, sizeof(*size));
    item_put(size);
}

void sizes_learn(const struct mirror *mirror, const struct ocv_reference *reference,
                 const char *media_type, const struct ocv_buffer *body)
{
    ocv_auto(ocv_manifest) manifest = NULL;
    if (!media_type_is_manifest(media_type))
        return;
    room_read_begin(body->len);
    if (ocv_manifest_parse(body->data, body->len, media_type, &manifest, NULL) == OCV_OK) {
        learn(mirror, reference, ocv_manifest_config(manifest));
        for (size_t i = 0; i < ocv_manifest_layer_count(manifest); i++)
            learn(mirror, reference, ocv_manifest_layer(manifest, i));
    }
    ocv_manifest_free(manifest);
    manifest = NULL;
    room_read_end(body->len);
}
