/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A set of tags as an image index, so that everything after it is the same as for an index that a
 * publisher wrote. The bytes are ours and go nowhere: only their entries' digests are real. */
#include "json.h"
#include "tags.h"

#include <string.h>

static int put(json_t *object, const char *key, json_t *value, struct ocv_error *err)
{
    return json_object_set_new(object, key, value) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

/* An object is NULL once something could not be put into it. */
static void set_text(json_t **object, const char *key, const char *text)
{
    if (!text || json_object_set_new(*object, key, json_string(text)) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static json_t *platform_json(const struct ocv_platform *p)
{
    json_t *object = json_object();
    set_text(&object, "os", p->os);
    set_text(&object, "architecture", p->architecture);
    set_text(&object, "variant", p->variant);
    set_text(&object, "os.version", p->os_version);
    return object;
}

/* A label stands once on a platform: of two tags that need nothing the first is taken, and of an
 * image's variants of one architecture the first, which runs on all of them. */
static bool is_there(const json_t *manifests, const char *label,
                     const struct ocv_platform *platform)
{
    for (size_t i = 0; platform && i < json_array_size(manifests); i++) {
        const json_t *one = json_array_get(manifests, i), *there = json_object_get(one, "platform");
        const char *os = json_string_value(json_object_get(there, "os"));
        const char *arch = json_string_value(json_object_get(there, "architecture"));
        const char *name = json_string_value(
            json_object_get(json_object_get(one, "annotations"), OCV_ANNOTATION_LABEL));
        if (os && arch && name && strcmp(name, label) == 0 && strcmp(os, platform->os) == 0 &&
            strcmp(arch, platform->architecture) == 0)
            return true;
    }
    return false;
}

static int add_entry(json_t *manifests, const struct ocv_tag_candidate *c, const char *media_type,
                     const char *digest, int64_t size, const struct ocv_platform *platform,
                     struct ocv_error *err)
{
    struct ocv_buffer properties;
    if (is_there(manifests, c->label, platform))
        return OCV_OK;
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = ocv_properties_format(ocv_tag_properties(c->tag), &properties, err);
    json_t *entry = NULL;
    if (status == OCV_OK) {
        entry =
            json_pack("{s:s, s:s, s:I, s:{s:s, s:s, s:s}}", "mediaType", media_type, "digest",
                      digest, "size", (json_int_t)size, "annotations", OCV_ANNOTATION_LABEL,
                      c->label, OCV_ANNOTATION_PROPERTIES, properties.len ? properties.data : "",
                      OCV_ANNOTATION_REF_NAME, ocv_tag_text(c->tag));
        if (!entry || json_array_append_new(manifests, entry) < 0)
            status = ocv_error_nomem(err);
    }
    if (status == OCV_OK && platform)
        status = put(entry, "platform", platform_json(platform), err);
    ocv_buffer_free(&properties);
    return status;
}

/* A tag that is an index of its own gives its images for every platform. */
static int add_index(json_t *manifests, const struct ocv_tag_candidate *c, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    int status = ocv_index_parse(c->body, c->body_len, c->descriptor.media_type, &index, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(c->tag));
    for (size_t i = 0; status == OCV_OK && i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (e->code == OCV_REJECT_NONE && e->has_platform)
            status = add_entry(manifests, c, e->media_type, e->digest, e->size, &e->platform, err);
    }
    return status;
}

static int add_candidate(json_t *manifests, const struct ocv_tag_candidate *c,
                         struct ocv_error *err)
{
    ocv_auto(ocv_platform) platform = NULL;
    const char *text = c->platform ? c->platform : ocv_tag_platform(c->tag);
    if (c->body)
        return add_index(manifests, c, err);
    if (text && ocv_platform_parse(text, &platform, err) < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(c->tag));
    return add_entry(manifests, c, c->descriptor.media_type, c->descriptor.digest,
                     c->descriptor.size, platform, err);
}

int ocv_tag_index(const struct ocv_tag_candidate *candidates, size_t n, struct ocv_buffer *out,
                  struct ocv_error *err)
{
    json_t *manifests = json_array();
    json_t *root =
        json_pack("{s:i, s:s, s:{s:s}, s:o}", "schemaVersion", 2, "mediaType", OCV_MEDIA_TYPE_INDEX,
                  "annotations", OCV_ANNOTATION_SCHEMA, "1", "manifests", manifests);
    int status = root ? OCV_OK : ocv_error_nomem(err);
    for (size_t i = 0; status == OCV_OK && i < n; i++)
        status = add_candidate(manifests, &candidates[i], err);
    const struct ocv_tag_family *family = n ? candidates[0].tag->family : NULL;
    if (status == OCV_OK && family && family->n_namespaces) {
        struct ocv_buffer list;
        ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        for (size_t i = 0; status == OCV_OK && i < family->n_namespaces; i++)
            status = ocv_buffer_printf(&list, err, "%s%s", i ? ", " : "", family->namespaces[i]);
        if (status == OCV_OK)
            status = put(json_object_get(root, "annotations"), OCV_ANNOTATION_NAMESPACES,
                         json_string(list.data), err);
        ocv_buffer_free(&list);
    }
    if (status == OCV_OK)
        status = ocv_json_append(root, JSON_COMPACT, out, err);
    json_decref(root);
    return status;
}
