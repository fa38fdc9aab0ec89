/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/lockfile.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int set_error(struct ocv_error *err, const char *path, const char *image, const char *what)
{
    return ocv_error_set(err, OCV_ERR_DATA, "%s: %s%s%s", path, image ? image : "",
                         image ? ": " : "", what);
}

static int read_tags(const char *path, const json_t *entry, struct lock_image *out,
                     struct ocv_error *err)
{
    json_t *tags = json_object_get(entry, "tags"), *value;
    const char *key;
    size_t n = json_object_size(tags);
    if (!tags)
        return OCV_OK;
    if (n == 0 || n > LOCK_TAGS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: %s: 'tags' must hold 1 to %u tags", path,
                             out->reference, LOCK_TAGS_MAX);
    out->tags = calloc(n, sizeof(*out->tags));
    if (!out->tags)
        return ocv_error_nomem(err);
    json_object_foreach(tags, key, value)
    {
        struct lock_tag *tag = &out->tags[out->n_tags++];
        struct ocv_descriptor *to = &tag->descriptor;
        const char *digest = ocv_json_text(value, "digest");
        const char *type = ocv_json_text(value, "mediaType");
        const json_t *size = json_object_get(value, "size");
        tag->tag = key;
        to->size = json_is_integer(size) ? json_integer_value(size) : -1;
        if (!ocv_reference_tag_valid(key) || !digest || !ocv_digest_known(digest) ||
            (type && strlen(type) >= sizeof(to->media_type)))
            return set_error(err, path, out->reference, "a tag without a usable digest");
        snprintf(to->digest, sizeof(to->digest), "%s", digest);
        snprintf(to->media_type, sizeof(to->media_type), "%s", type ? type : "");
    }
    return OCV_OK;
}

static int read_image(const char *path, const json_t *entry, struct lock_image *out,
                      struct ocv_error *err)
{
    out->reference = ocv_json_text(entry, "reference");
    out->top = ocv_json_text(entry, "index");
    if (!out->reference || !*out->reference)
        return set_error(err, path, NULL, "an image without 'reference'");
    ocv_auto(ocv_reference) parsed = NULL;
    if (strncmp(out->reference, "oci:", 4) != 0 &&
        ocv_reference_parse(out->reference, &parsed, NULL) < 0)
        return set_error(err, path, out->reference, "'reference' is not an image reference");
    if (!out->top || !ocv_digest_known(out->top))
        return set_error(err, path, out->reference, "'index' must be a digest");
    OCV_TRY(read_tags(path, entry, out, err));
    if (out->n_tags && (!parsed || !parsed->tag))
        return set_error(err, path, out->reference, "'tags' without a tag reference");

    json_t *profiles = json_object_get(entry, "profiles"), *value;
    const char *key;
    size_t n = json_object_size(profiles);
    if (n == 0 || n > LOCK_PROFILES_MAX)
        return set_error(err, path, out->reference, "'profiles' must name at least one machine");
    out->choices = calloc(n, sizeof(*out->choices));
    if (!out->choices)
        return ocv_error_nomem(err);
    json_object_foreach(profiles, key, value)
    {
        struct lock_choice *c = &out->choices[out->n_choices++];
        const json_t *signature = json_object_get(value, "signature");
        *c = (struct lock_choice){.profile = key,
                                  .digest = ocv_json_text(value, "digest"),
                                  .label = ocv_json_text(value, "label"),
                                  .source = ocv_json_text(value, "source"),
                                  .subject = ocv_json_text(signature, "subject"),
                                  .key = ocv_json_text(signature, "key"),
                                  .signature = ocv_json_text(signature, "digest")};
        if (!c->digest || !ocv_digest_known(c->digest))
            return set_error(err, path, out->reference, "a profile without a usable digest");
        if (signature &&
            (!c->subject || !c->key || !c->signature || !ocv_digest_known(c->subject) ||
             !ocv_digest_known(c->key) || !ocv_digest_known(c->signature)))
            return set_error(err, path, out->reference, "a profile with a malformed signature");
    }
    return OCV_OK;
}

int lock_read(const char *path, struct lock *out, struct ocv_error *err)
{
    __attribute__((cleanup(lock_free))) struct lock lock = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, LOCK_MAX);
    *out = (struct lock){0};
    OCV_TRY(cli_read_file(path, &text, err));
    json_error_t where;
    lock.root =
        ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, &where);
    if (!lock.root)
        return ocv_error_set(err, OCV_ERR_DATA, "%s:%d: %s", path, where.line, where.text);
    json_t *images = json_object_get(lock.root, "images"), *entry;
    const char *schema = ocv_json_text(lock.root, "schema");
    size_t i, n = json_array_size(images);
    if (!schema || strcmp(schema, LOCK_SCHEMA) != 0)
        return set_error(err, path, NULL, "'schema' is not " LOCK_SCHEMA);
    if (n == 0 || n > LOCK_IMAGES_MAX)
        return set_error(err, path, NULL, "'images' must hold at least one image");
    lock.images = calloc(n, sizeof(*lock.images));
    if (!lock.images)
        return ocv_error_nomem(err);
    json_array_foreach(images, i, entry)
    {
        OCV_TRY(read_image(path, entry, &lock.images[lock.n_images++], err));
    }
    *out = lock;
    lock = (struct lock){0};
    return OCV_OK;
}

void lock_free(struct lock *lock)
{
    for (size_t i = 0; i < lock->n_images; i++) {
        free(lock->images[i].choices);
        free(lock->images[i].tags);
    }
    free(lock->images);
    json_decref(lock->root);
    *lock = (struct lock){0};
}

void lock_name(const struct ocv_reference *reference, char *out, size_t size)
{
    const char *digest = reference->digest, *tag = digest ? NULL : reference->tag;
    snprintf(out, size, "%s%s%s", reference->name,
             digest ? "@"
             : tag  ? ":"
                    : "",
             digest ? digest
             : tag  ? tag
                    : "");
}

const struct lock_image *lock_find(const struct lock *lock, const char *text)
{
    char full[2048] = "";
    ocv_auto(ocv_reference) reference = NULL;
    if (ocv_reference_parse(text, &reference, NULL) == OCV_OK)
        lock_name(reference, full, sizeof(full));
    for (size_t i = 0; i < lock->n_images; i++)
        if (!strcmp(lock->images[i].reference, text) || !strcmp(lock->images[i].reference, full))
            return &lock->images[i];
    return NULL;
}

const struct lock_choice *lock_choice(const struct lock_image *image, const char *profile)
{
    for (size_t i = 0; i < image->n_choices; i++)
        if (!strcmp(image->choices[i].profile, profile))
            return &image->choices[i];
    return NULL;
}

bool lock_holds(const struct lock_image *image, const char *digest)
{
    for (size_t i = 0; i < image->n_choices; i++)
        if (!strcmp(image->choices[i].digest, digest))
            return true;
    return false;
}
