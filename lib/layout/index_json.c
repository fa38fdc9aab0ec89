/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* index.json as a document: find a tag, move a tag. What is not understood is kept as it is. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"
#include "lib/layout/layout_internal.h"

#include <string.h>

#define NAMES_SHOWN 8u /* tags that an error message lists */

int ocv_index_json_load(const void *bytes, size_t len, json_t **out, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load("index.json", bytes, len, OCV_MANIFEST_MAX, &root, err));
    const json_t *manifests = json_object_get(root, "manifests");
    if (!json_is_array(manifests))
        return ocv_error_set(err, OCV_ERR_DATA, "index.json: 'manifests' is not an array");
    if (json_array_size(manifests) > OCV_INDEX_ENTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "index.json has more than %u entries",
                             OCV_INDEX_ENTRIES_MAX);
    *out = ocv_steal(&root);
    return OCV_OK;
}

static const char *get_annotation(const json_t *entry, const char *key)
{
    return ocv_json_text(json_object_get(entry, "annotations"), key);
}

static int read_entry(const json_t *entry, struct ocv_descriptor *out, struct ocv_error *err)
{
    const char *media_type;
    const char *digest;
    OCV_TRY(ocv_json_descriptor(entry, "index.json entry", &media_type, &digest, &out->size, err));
    if (strlen(media_type) >= sizeof(out->media_type))
        return ocv_error_set(err, OCV_ERR_DATA, "index.json entry: mediaType is too long");
    if (!ocv_digest_known(digest))
        return ocv_error_set(err, OCV_ERR_DATA, "index.json entry: unknown digest algorithm: %s",
                             digest);
    memcpy(out->media_type, media_type, strlen(media_type) + 1);
    memcpy(out->digest, digest, strlen(digest) + 1);
    return OCV_OK;
}

static json_t *find_annotated(const json_t *manifests, const char *key, const char *value)
{
    size_t i;
    json_t *entry;
    json_array_foreach(manifests, i, entry)
    {
        const char *name = get_annotation(entry, key);
        if (name && strcmp(name, value) == 0)
            return entry;
    }
    return NULL;
}

int ocv_index_json_find(const json_t *root, const char *tag, struct ocv_descriptor *out,
                        struct ocv_error *err)
{
    const json_t *manifests = json_object_get(root, "manifests");
    const json_t *entry = NULL;
    size_t i, tagged = 0, shown = 0;
    json_t *other;
    if (tag) {
        entry = find_annotated(manifests, OCV_ANNOTATION_REF_NAME, tag);
        if (!entry)
            entry = find_annotated(manifests, OCV_ANNOTATION_IMAGE_NAME, tag);
    } else {
        /* the only one, or the only one that has a tag: moving a tag leaves the entry it stood on
         * without one */
        json_array_foreach(manifests, i, other)
        {
            if (get_annotation(other, OCV_ANNOTATION_REF_NAME))
                entry = tagged++ ? NULL : other;
        }
        if (json_array_size(manifests) == 1)
            entry = json_array_get(manifests, 0);
    }
    if (entry)
        return read_entry(entry, out, err);

    /* the tags that are there instead */
    char names[512] = "";
    json_array_foreach(manifests, i, other)
    {
        const char *name = get_annotation(other, OCV_ANNOTATION_REF_NAME);
        if (!name)
            name = get_annotation(other, OCV_ANNOTATION_IMAGE_NAME);
        size_t used = strlen(names);
        if (!name || !strncmp(name, "sha256-", 7) || used + strlen(name) + 8 > sizeof(names))
            continue; /* "sha256-HEX" lists what is attached to a digest */
        if (shown == NAMES_SHOWN) {
            memcpy(names + used, ", ...", sizeof(", ..."));
            break;
        }
        memcpy(names + used, shown ? ", " : "", shown ? 3 : 1);
        memcpy(names + strlen(names), name, strlen(name) + 1);
        shown++;
    }
    if (tag)
        ocv_error_set(err, OCV_ERR_NOT_FOUND, "no image '%.200s' in index.json", tag);
    else
        ocv_error_set(err, OCV_ERR_NOT_FOUND, "index.json has %zu entries, a tag is needed",
                      json_array_size(manifests));
    if (shown)
        ocv_error_hint(err, "it has: %s", names);
    return OCV_ERR_NOT_FOUND;
}

int ocv_index_json_walk(const json_t *root, ocv_layout_visit visit, void *data)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(root, "manifests"), i, entry)
    {
        struct ocv_descriptor descriptor;
        if (read_entry(entry, &descriptor, NULL) < 0)
            continue;
        int rc = visit(data, get_annotation(entry, OCV_ANNOTATION_REF_NAME),
                       get_annotation(entry, OCV_ANNOTATION_IMAGE_NAME), &descriptor);
        if (rc != 0)
            return rc;
    }
    return OCV_OK;
}

/* Take a name away from every entry but one. */
static void drop_annotation(json_t *manifests, const char *key, const char *value,
                            const json_t *keep)
{
    size_t i;
    json_t *entry;
    json_array_foreach(manifests, i, entry)
    {
        const char *name = get_annotation(entry, key);
        if (!name || strcmp(name, value) != 0 || entry == keep)
            continue;
        json_t *annotations = json_object_get(entry, "annotations");
        json_object_del(annotations, key);
        if (json_object_size(annotations) == 0)
            json_object_del(entry, "annotations");
    }
}

/* `value` is taken over; NULL means that an allocation or a string's UTF-8 failed. */
static int set_member(json_t *object, const char *key, json_t *value, struct ocv_error *err)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot write '%s': not UTF-8 or out of memory",
                             key);
    return OCV_OK;
}

static int put_text(json_t *object, const char *key, const char *text, struct ocv_error *err)
{
    return text ? set_member(object, key, json_string(text), err) : OCV_OK;
}

int ocv_index_json_tag(json_t *root, const char *tag, const char *image_name,
                       const struct ocv_descriptor *descriptor, const struct ocv_platform *platform,
                       struct ocv_error *err)
{
    json_t *manifests = json_object_get(root, "manifests");
    /* the entry that carries the tag already and may go on doing so */
    json_t *entry = find_annotated(manifests, OCV_ANNOTATION_REF_NAME, tag);
    const char *old = ocv_json_text(entry, "digest");
    const char *name = entry ? get_annotation(entry, OCV_ANNOTATION_IMAGE_NAME) : NULL;
    if (!old || strcmp(old, descriptor->digest) != 0 ||
        (name && image_name && strcmp(name, image_name) != 0))
        entry = NULL;
    drop_annotation(manifests, OCV_ANNOTATION_REF_NAME, tag, entry);
    if (image_name) {
        drop_annotation(manifests, OCV_ANNOTATION_IMAGE_NAME, image_name, entry);
        /* some writers put the full name where the tag belongs, and a reader looks there first */
        drop_annotation(manifests, OCV_ANNOTATION_REF_NAME, image_name, entry);
    }
    size_t i;
    json_t *other;
    json_array_foreach(manifests, i, other)
    {
        const char *digest = ocv_json_text(other, "digest");
        if (!entry && digest && strcmp(digest, descriptor->digest) == 0 &&
            !get_annotation(other, OCV_ANNOTATION_REF_NAME) &&
            !get_annotation(other, OCV_ANNOTATION_IMAGE_NAME))
            entry = other; /* one with that digest and no name can take ours */
    }
    if (!entry) {
        if (json_array_size(manifests) >= OCV_INDEX_ENTRIES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "index.json has %u entries already",
                                 OCV_INDEX_ENTRIES_MAX);
        entry = json_object();
        if (!entry || json_array_append_new(manifests, entry) != 0)
            return ocv_error_nomem(err);
    }
    OCV_TRY(put_text(entry, "mediaType", descriptor->media_type, err));
    OCV_TRY(put_text(entry, "digest", descriptor->digest, err));
    OCV_TRY(set_member(entry, "size", json_integer(descriptor->size), err));
    if (platform) {
        json_t *object = json_object();
        OCV_TRY(set_member(entry, "platform", object, err)); /* the entry owns it from here on */
        OCV_TRY(put_text(object, "architecture", platform->architecture, err));
        OCV_TRY(put_text(object, "os", platform->os, err));
        OCV_TRY(put_text(object, "os.version", platform->os_version, err));
        OCV_TRY(put_text(object, "variant", platform->variant, err));
        json_t *features = platform->n_os_features ? json_array() : NULL;
        if (platform->n_os_features)
            OCV_TRY(set_member(object, "os.features", features, err));
        for (i = 0; i < platform->n_os_features; i++)
            if (json_array_append_new(features, json_string(platform->os_features[i])) != 0)
                return ocv_error_nomem(err);
    }
    json_t *annotations = json_object_get(entry, "annotations");
    if (!json_is_object(annotations)) {
        annotations = json_object();
        OCV_TRY(set_member(entry, "annotations", annotations, err));
    }
    OCV_TRY(put_text(annotations, OCV_ANNOTATION_REF_NAME, tag, err));
    return put_text(annotations, OCV_ANNOTATION_IMAGE_NAME, image_name, err);
}
