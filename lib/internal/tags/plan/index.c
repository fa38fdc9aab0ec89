/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A set of tags as an image index, so that everything after it is the same as for an index that a
 * publisher wrote. The bytes are made here and not published: only their entries' digests are real.
 */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/tags/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_member(json_t *object, const char *key, json_t *value, struct ocv_error *err)
{
    return json_object_set_new(object, key, value) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

struct plan_build {
    json_t *manifests;
    const struct ocv_tag_order *order;
    enum ocv_tag_unread unread;
    const struct ocv_profile *profile;
    struct ocv_error *err;
};

static int put_entry(struct plan_build *m, const struct ocv_tag_candidate *c, const char *label,
                     const struct ocv_properties *set, const struct ocv_descriptor *d,
                     const struct ocv_platform *platform)
{
    ocv_auto_buffer properties;
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    /* A label stands once on a platform: of two tags that need nothing the first is taken, and of
     * an image's variants of one architecture the first, which runs on all of them. */
    for (size_t i = 0; platform && i < json_array_size(m->manifests); i++) {
        const json_t *one = json_array_get(m->manifests, i);
        const json_t *there = json_object_get(one, "platform");
        const char *os = ocv_json_text(there, "os");
        const char *arch = ocv_json_text(there, "architecture");
        const char *name = ocv_json_text(json_object_get(one, "annotations"), OCV_ANNOTATION_LABEL);
        if (os && arch && name && strcmp(name, label) == 0 && strcmp(os, platform->os) == 0 &&
            strcmp(arch, platform->architecture) == 0)
            return OCV_OK;
    }
    OCV_TRY(ocv_properties_format(set, &properties, m->err));
    json_t *entry =
        json_pack("{s:s, s:s, s:I, s:{s:s, s:s, s:s}}", "mediaType", d->media_type, "digest",
                  d->digest, "size", (json_int_t)d->size, "annotations", OCV_ANNOTATION_LABEL,
                  label, OCV_ANNOTATION_PROPERTIES, properties.len ? properties.data : "",
                  OCV_ANNOTATION_REF_NAME, ocv_tag_text(c->tag));
    if (!entry || json_array_append_new(m->manifests, entry) < 0)
        return ocv_error_nomem(m->err);
    if (!platform)
        return OCV_OK;
    return set_member(entry, "platform",
                      json_pack("{s:s*, s:s*, s:s*, s:s*}", "os", platform->os, "architecture",
                                platform->architecture, "variant", platform->variant, "os.version",
                                platform->os_version),
                      m->err);
}

/* The image, and once more where it needs less on some devices. */
static int add_entry(struct plan_build *m, const struct ocv_tag_candidate *c,
                     const struct ocv_descriptor *d, const struct ocv_platform *platform)
{
    const struct ocv_tag *tag = c->tag; /* with what the image's configuration says, if it does */
    for (size_t i = 0; i < c->n_answered && tag == c->tag; i++)
        if (strcmp(c->answered[i].digest, d->digest) == 0)
            tag = c->answered[i].tag;
    if (tag->n_asks && m->unread != OCV_TAG_UNREAD_OUT) { /* what its configuration may say */
        ocv_auto(ocv_properties) hope = NULL;
        OCV_TRY(ocv_tag_hope(c->tag, m->unread == OCV_TAG_UNREAD_HOPE ? m->profile : NULL, &hope,
                             m->err));
        return put_entry(m, c, c->label, hope, d, platform);
    }
    if (tag->refused)
        return OCV_OK;
    char order[OCV_TAG_TEXT_MAX], name[OCV_TAG_TEXT_MAX], label[OCV_TAG_BASE_LABEL_SIZE];
    ocv_auto(ocv_properties) all = NULL;
    ocv_auto(ocv_properties) base = NULL;
    if (platform)
        snprintf(name, sizeof(name), "%.200s/%.200s", platform->os, platform->architecture);
    OCV_TRY(ocv_tag_claims(tag, platform ? name : NULL,
                           ocv_tag_order_property(m->order, tag, order), &all, &base, m->err));
    OCV_TRY(put_entry(m, c, c->label, all, d, platform));
    return base ? put_entry(m, c, ocv_tag_base_label(c->label, label), base, d, platform) : OCV_OK;
}

static int add_candidate(struct plan_build *m, const struct ocv_tag_candidate *c)
{
    ocv_auto(ocv_platform) platform = NULL;
    const char *text = c->platform ? c->platform : ocv_tag_platform(c->tag);
    if (c->body) {
        /* A tag that is an index of its own gives its images for every platform. */
        ocv_auto(ocv_index) index = NULL;
        if (ocv_index_parse(c->body, c->body_len, c->descriptor.media_type, &index, m->err) < 0)
            return ocv_error_prefix(m->err, "%s", ocv_tag_text(c->tag));
        for (size_t i = 0; i < ocv_index_count(index); i++) {
            const struct ocv_entry *e = ocv_index_entry(index, i);
            struct ocv_descriptor d = {.size = e->size};
            if (e->code != OCV_REJECT_NONE || !e->has_platform)
                continue;
            snprintf(d.media_type, sizeof(d.media_type), "%s", e->media_type);
            snprintf(d.digest, sizeof(d.digest), "%s", e->digest);
            OCV_TRY(add_entry(m, c, &d, &e->platform));
        }
        return OCV_OK;
    }
    if (text && ocv_platform_parse(text, &platform, m->err) < 0)
        return ocv_error_prefix(m->err, "%s", ocv_tag_text(c->tag));
    return add_entry(m, c, &c->descriptor, platform);
}

static int put_list(json_t *annotations, const char *key, const struct plan_build *m,
                    int (*append)(const struct ocv_tag_order *, struct ocv_buffer *,
                                  struct ocv_error *))
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(append(m->order, &list, m->err));
    return list.len ? set_member(annotations, key, json_string(list.data), m->err) : OCV_OK;
}

int ocv_tag_index(const struct ocv_tag_candidate *candidates, size_t n, enum ocv_tag_unread unread,
                  const struct ocv_profile *profile, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_tag_order order = {0};
    struct plan_build m = {.manifests = json_array(),
                           .order = &order,
                           .unread = unread,
                           .profile = profile,
                           .err = err};
    ocv_auto_json *root =
        json_pack("{s:i, s:s, s:{s:s}, s:o}", "schemaVersion", 2, "mediaType", OCV_MEDIA_TYPE_INDEX,
                  "annotations", OCV_ANNOTATION_SCHEMA, "1", "manifests", m.manifests);
    /* ordered by what is known about them */
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += 1 + candidates[i].n_answered;
    ocv_auto_free const struct ocv_tag **tags = calloc(all + 1, sizeof(*tags));
    if (!root || !tags)
        return ocv_error_nomem(err);
    all = 0;
    for (size_t i = 0; i < n; i++) {
        tags[all++] = candidates[i].tag;
        for (size_t k = 0; k < candidates[i].n_answered; k++)
            tags[all++] = candidates[i].answered[k].tag;
    }
    OCV_TRY(ocv_tag_order_make(&order, tags, all, err));
    for (size_t i = 0; i < n; i++)
        OCV_TRY(add_candidate(&m, &candidates[i]));
    json_t *annotations = json_object_get(root, "annotations");
    OCV_TRY(put_list(annotations, OCV_ANNOTATION_NAMESPACES, &m, ocv_tag_order_namespaces));
    OCV_TRY(put_list(annotations, OCV_ANNOTATION_STATIC OCV_TAG_ORDER_NAMESPACE, &m,
                     ocv_tag_order_list));
    return ocv_json_append(root, JSON_COMPACT, out, err);
}
