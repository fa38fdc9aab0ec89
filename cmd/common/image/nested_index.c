/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes one index of an index of indexes, as containerd walks it. The list is bounded before it is
 * read: levels, indexes, entries, configurations. */
#include "cmd/common/image/nested_index.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "ocivariant/digest.h"
#include "ocivariant/manifest.h"

#include <stdio.h>
#include <string.h>

#define CONFIG_VALUES_MAX (16u * 1024) /* of a configuration that is read for its platform */

struct flattening {
    const struct nested_source *source;
    json_t *list;        /* entries of the new index */
    json_t *annotations; /* its annotations */
    json_t *seen;        /* digests of the indexes that were read */
    json_t *images;      /* those that are in the list, by what tells them apart */
    size_t configs;
    bool deep;                        /* an index is left at the last level */
    size_t left_indexes, left_images; /* that are not read because there are too many */
};

static bool is_empty(const char *text)
{
    return !text || !*text;
}

/* A platform of which a member is missing. */
static bool is_partial(const struct ocv_entry *entry)
{
    return entry->code == OCV_REJECT_NONE && entry->has_platform &&
           (is_empty(entry->platform.os) || is_empty(entry->platform.architecture));
}

static bool wants_platform(const struct ocv_entry *entry)
{
    return (entry->code == OCV_REJECT_NONE && !entry->has_platform) || is_partial(entry);
}

static size_t count_usable(const struct ocv_index *index)
{
    size_t n = 0;
    for (size_t i = 0; i < index->n_entries; i++)
        n += index->entries[i].code == OCV_REJECT_NONE;
    return n;
}

bool nested_index_is(const struct ocv_index *index, bool lone)
{
    bool several = lone || count_usable(index) > 1; /* one alone is what there is */
    for (size_t i = 0; i < index->n_entries; i++)
        if (index->entries[i].code == OCV_REJECT_NESTED || is_partial(&index->entries[i]) ||
            (several && wants_platform(&index->entries[i])))
            return true;
    return false;
}

static int fill_descriptor(const struct ocv_entry *entry, struct ocv_descriptor *out,
                           struct ocv_error *err)
{
    *out = (struct ocv_descriptor){.size = entry->size};
    if (strlen(entry->media_type) >= sizeof(out->media_type))
        return ocv_error_set(err, OCV_ERR_DATA, "index: entry %zu: media type too long",
                             entry->position);
    memcpy(out->media_type, entry->media_type, strlen(entry->media_type) + 1);
    memcpy(out->digest, entry->digest, strlen(entry->digest) + 1); /* checked when it was read */
    return OCV_OK;
}

static int read_platform(struct flattening *f, const struct ocv_entry *entry, json_t **out,
                         struct ocv_error *err)
{
    struct ocv_descriptor image;
    struct ocv_error local = {0};
    ocv_auto_buffer config;
    ocv_buffer_init(&config, OCV_MANIFEST_MAX);
    if (!f->source->config || f->configs == NESTED_CONFIGS_MAX) {
        f->left_images += f->source->config != NULL;
        return OCV_OK;
    }
    f->configs++;
    int status = fill_descriptor(entry, &image, &local);
    if (status == OCV_OK)
        status = f->source->config(f->source->data, &image, &config, &local);
    /* {os, architecture, variant} of the configuration, if it names them */
    static const char *const keys[] = {"os", "architecture", "variant"};
    json_t *root = NULL;
    if (status == OCV_OK &&
        ocv_json_load_counted("image configuration", config.data, config.len, OCV_MANIFEST_MAX,
                              CONFIG_VALUES_MAX, &root, NULL) == OCV_OK &&
        json_is_string(json_object_get(root, "architecture")))
        *out = json_object();
    for (size_t i = 0; *out && i < sizeof(keys) / sizeof(*keys); i++)
        if (json_is_string(json_object_get(root, keys[i])))
            (void)json_object_set(*out, keys[i], json_object_get(root, keys[i]));
    json_decref(root);
    if (status == OCV_ERR_NOT_FOUND || status == OCV_ERR_DATA) /* its pull reports it */
        return OCV_OK;
    if (status < 0 && err)
        *err = local;
    return status;
}

/* What the entry says itself counts. Without a configuration the system is Linux, as for containerd
 * there. */
static int complete(const json_t *entry, json_t **platform, struct ocv_error *err)
{
    const char *key;
    json_t *value;
    if (!*platform)
        *platform = json_pack("{s:s}", "os", "linux");
    if (!*platform)
        return ocv_error_nomem(err);
    const json_t *said = json_object_get(json_object_get(entry, "platform"), "architecture");
    if (!is_empty(json_string_value(said)) &&
        !json_equal(said, json_object_get(*platform, "architecture")))
        json_object_del(*platform, "variant"); /* of another one */
    json_object_foreach(json_object_get(entry, "platform"), key, value)
    {
        const char *text = json_string_value(value);
        if ((!text || *text) && json_object_set(*platform, key, value) < 0)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

/* An entry as it is, with `platform` where it has none. */
static int add_entry(struct flattening *f, const struct ocv_entry *read, json_t *entry,
                     json_t *platform, struct ocv_error *err)
{
    if (read->code == OCV_REJECT_NONE) {
        /* Several indexes may have one image. An entry that says anything else of it, say as a
         * variant beside the default, is another one. */
        const json_t *annotations = json_object_get(entry, "annotations");
        ocv_auto_json *key = json_pack("[O?, O?, O?, O?]", json_object_get(entry, "digest"),
                                       platform ? platform : json_object_get(entry, "platform"),
                                       json_object_get(annotations, OCV_ANNOTATION_LABEL),
                                       json_object_get(annotations, OCV_ANNOTATION_PROPERTIES));
        ocv_auto_free char *text = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        if (!text)
            return ocv_error_nomem(err);
        if (json_object_get(f->images, text))
            return OCV_OK;
        if (json_object_set_new(f->images, text, json_true()) < 0)
            return ocv_error_nomem(err);
    }
    if (json_array_size(f->list) >= OCV_INDEX_ENTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "the indexes have more than %u entries together",
                             OCV_INDEX_ENTRIES_MAX);
    ocv_auto_json *copy = platform ? json_copy(entry) : json_incref(entry);
    if (!copy || (platform && json_object_set(copy, "platform", platform) < 0) ||
        json_array_append(f->list, copy) < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

static int walk(struct flattening *f, const struct ocv_index *index, json_t *platform,
                unsigned depth, struct ocv_error *err);

/* `*read`: its images are in the list now. */
static int walk_nested(struct flattening *f, const struct ocv_entry *entry, json_t *platform,
                       unsigned depth, bool *read, struct ocv_error *err)
{
    struct ocv_descriptor nested;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    *read = json_object_get(f->seen, entry->digest) != NULL;
    if (*read || !f->source->get || !ocv_digest_known(entry->digest))
        return OCV_OK;
    if (depth == NESTED_DEPTH_MAX || json_object_size(f->seen) >= NESTED_INDEXES_MAX) {
        f->deep = f->deep || depth == NESTED_DEPTH_MAX;
        f->left_indexes += depth < NESTED_DEPTH_MAX;
        return OCV_OK;
    }
    if (json_object_set_new(f->seen, entry->digest, json_true()) < 0)
        return ocv_error_nomem(err);
    struct ocv_error local = {0};
    int status = fill_descriptor(entry, &nested, &local);
    if (status == OCV_OK)
        status = f->source->get(f->source->data, &nested, &body, &local);
    if (status == OCV_OK)
        status = ocv_index_parse(body.data, body.len, nested.media_type, &index, &local);
    if (status == OCV_ERR_NOT_FOUND)
        return OCV_OK;
    if (status == OCV_OK) {
        *read = true;
        status = walk(f, index, platform, depth + 1, &local);
    }
    if (status < 0 && err)
        *err = local;
    return status;
}

static int walk(struct flattening *f, const struct ocv_index *index, json_t *platform,
                unsigned depth, struct ocv_error *err)
{
    json_t *entries = json_object_get(index->root, "manifests");
    json_t *annotations = json_object_get(index->root, "annotations");
    bool several = depth || f->source->lone || count_usable(index) > 1;
    if (json_object_update_missing(f->annotations, annotations ? annotations : f->annotations) < 0)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < index->n_entries; i++) {
        const struct ocv_entry *entry = &index->entries[i];
        json_t *object = json_array_get(entries, i);
        ocv_auto_json *own = NULL;
        bool read = false;
        if (entry->code == OCV_REJECT_NESTED)
            OCV_TRY(walk_nested(
                f, entry, entry->has_platform ? json_object_get(object, "platform") : platform,
                depth, &read, err));
        else if (wants_platform(entry) && !platform && (several || is_partial(entry)))
            OCV_TRY(read_platform(f, entry, &own, err));
        if (is_partial(entry) && (own || platform || f->source->config)) {
            own = own ? own : json_deep_copy(platform);
            OCV_TRY(complete(object, &own, err));
        }
        json_t *given = own ? own : wants_platform(entry) ? platform : NULL;
        if (!read)
            OCV_TRY(add_entry(f, entry, object, given, err));
    }
    return OCV_OK;
}

int nested_index_flatten(const struct ocv_index *index, const struct nested_source *source,
                         struct ocv_index **out, struct ocv_error *err)
{
    ocv_auto_json *list = json_array(), *annotations = json_object(), *seen = json_object();
    ocv_auto_json *images = json_object(), *root = json_copy(index->root);
    struct flattening f = {
        .source = source, .list = list, .annotations = annotations, .seen = seen, .images = images};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 2 * OCV_MANIFEST_MAX);
    if (!list || !annotations || !seen || !images || !root)
        return ocv_error_nomem(err);
    OCV_TRY(walk(&f, index, NULL, 0, err));
    if ((json_object_set(root, "manifests", list) < 0 ||
         json_object_set(root, "annotations", annotations) < 0))
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &text, err));
    OCV_TRY(ocv_index_parse(text.data, text.len, NULL, out, err));
    memcpy((*out)->digest, index->digest, sizeof((*out)->digest));

    /* what is left out may have been the choice */
    if (f.left_indexes)
        OCV_TRY(ocv_index_warn(*out, err, "indexes in the index: %u are read, %zu left out",
                               NESTED_INDEXES_MAX, f.left_indexes));
    if (f.deep)
        OCV_TRY(ocv_index_warn(*out, err, "indexes in the index: more than %u levels, left out",
                               NESTED_DEPTH_MAX));
    if (f.left_images)
        OCV_TRY(ocv_index_warn(*out, err,
                               "images without a platform: the configurations of %u are read, "
                               "%zu left out",
                               NESTED_CONFIGS_MAX, f.left_images));
    return OCV_OK;
}

static int get_nested(void *data, const struct ocv_descriptor *nested, struct ocv_buffer *body,
                      struct ocv_error *err)
{
    const struct nested_place *place = data;
    struct ocv_descriptor seen;
    if (place->digest && !strcmp(nested->digest, place->digest))
        return ocv_buffer_append(body, place->body->data, place->body->len, err);
    if (place->layout)
        return ocv_layout_read_blob(place->layout, nested->digest, body, err);
    if (!place->reference)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s is not in the file", nested->digest);
    return ocv_registry_get(place->registry, place->reference, nested->digest, body, &seen, err);
}

static int get_config(void *data, const struct ocv_descriptor *image, struct ocv_buffer *config,
                      struct ocv_error *err)
{
    const struct nested_place *place = data;
    ocv_auto(ocv_manifest) manifest = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    if (!place->layout && !place->reference)
        return OCV_ERR_NOT_FOUND; /* a file has no blobs */
    OCV_TRY(get_nested(data, image, &body, err));
    OCV_TRY(ocv_manifest_parse(body.data, body.len, image->media_type, &manifest, err));
    const struct ocv_descriptor *blob = ocv_manifest_config(manifest);
    return place->layout
               ? ocv_layout_read_blob(place->layout, blob->digest, config, err)
               : ocv_registry_get_blob(place->registry, place->reference, blob, config, err);
}

int nested_place_walk(const struct nested_place *place, const struct ocv_index *index, bool lone,
                      struct ocv_index **out, struct ocv_error *err)
{
    const struct nested_source source = {.data = (void *)(uintptr_t)place,
                                         .get = get_nested,
                                         .config = get_config,
                                         .lone = lone || ocv_index_has_variants(index)};
    return nested_index_is(index, source.lone) ? nested_index_flatten(index, &source, out, err)
                                               : OCV_OK;
}
