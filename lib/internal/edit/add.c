/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Making entries of images, and adding them. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"

#include <stdlib.h>
#include <string.h>

int ocv_edit_check_label(const char *label, struct ocv_error *err)
{
    if (ocv_label_valid(label, strlen(label)))
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_DATA, "'%.100s' is not a label", label);
    ocv_error_hint(err, "a-z 0-9 with single . or _ between them, at most 48 characters");
    return OCV_ERR_DATA;
}

int ocv_edit_canonical(const struct ocv_properties *properties, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    ocv_buffer_init(out, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    if (properties)
        OCV_TRY(ocv_properties_format(properties, out, err));
    return ocv_buffer_append(out, "", 0, err);
}

static int make_entry(const struct ocv_edit_image *image, struct ocv_edit_entry *out,
                      struct ocv_error *err)
{
    const struct ocv_descriptor *d = &image->descriptor;
    const struct ocv_platform *p = &image->platform;
    const char *texts[][2] = {{"architecture", p->architecture},
                              {"os", p->os},
                              {"variant", p->variant},
                              {"os.version", p->os_version}};
    ocv_auto_json *platform = json_object();
    if (!platform)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i][1] && *texts[i][1])
            OCV_TRY(ocv_edit_put_text(platform, texts[i][0], texts[i][1], err));
    json_t *features = p->n_os_features ? json_array() : NULL;
    if (p->n_os_features && json_object_set_new(platform, "os.features", features) < 0)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < p->n_os_features; i++)
        if (json_array_append_new(features, json_string(p->os_features[i])) < 0)
            return ocv_error_nomem(err);
    ocv_auto_json *json = json_pack("{s:s, s:s, s:I, s:O}", "mediaType", d->media_type, "digest",
                                    d->digest, "size", (json_int_t)d->size, "platform", platform);
    if (!json)
        return ocv_error_nomem(err);
    ocv_auto_buffer text;
    OCV_TRY(ocv_edit_canonical(image->properties, &text, err));
    if (image->label &&
        json_object_set_new(json, "annotations",
                            json_pack("{s:s, s:s}", OCV_ANNOTATION_LABEL, image->label,
                                      OCV_ANNOTATION_PROPERTIES, text.data)) < 0)
        return ocv_error_nomem(err);
    return ocv_edit_entry_make(ocv_steal(&json), out, err);
}

bool ocv_edit_has_default(const struct ocv_edit *edit, const struct ocv_platform *platform)
{
    for (size_t i = 0; i < edit->n; i++) {
        const struct ocv_edit_entry *e = &edit->entries[i];
        if (e->class == OCV_EDIT_DEFAULT && ocv_text_same(e->os, platform->os) &&
            ocv_text_same(e->architecture, platform->architecture) &&
            ocv_text_same(e->variant, platform->variant) &&
            ocv_text_same(e->os_version, platform->os_version))
            return true;
    }
    return false;
}

/* What the document had before may be replaced. */
static void hint_replace(const struct ocv_edit_entry *e, const struct ocv_edit_entry *other,
                         struct ocv_error *err)
{
    if (e->added && !other->changed)
        ocv_error_hint(err, "to replace that one: index add --replace");
}

static int refuse_default(const struct ocv_edit *edit, const struct ocv_edit_entry *e,
                          const struct ocv_edit_entry *other, struct ocv_error *err)
{
    bool both_ways = e->changed && other->changed && e->by_null != other->by_null && !other->label;
    ocv_error_set(err, both_ways ? OCV_ERR_INVALID : OCV_ERR_DATA,
                  "the second default for %s/%s%s%s%s%s%s", e->os, e->architecture,
                  *e->variant ? "/" : "", e->variant, *e->os_version ? " " : "", e->os_version,
                  !both_ways   ? ""
                  : edit->yaml ? ": a build labelled null and 'defaults' are the same"
                               : ": null= and --default are the same");
    hint_replace(e, other, err);
    return both_ways ? OCV_ERR_INVALID : OCV_ERR_DATA;
}

int ocv_edit_check_against(const struct ocv_edit *edit, const struct ocv_edit_entry *e,
                           struct ocv_error *err)
{
    for (size_t i = 0; i < edit->n; i++) {
        const struct ocv_edit_entry *other = &edit->entries[i];
        if (other == e || other->class == OCV_EDIT_OTHER)
            continue;
        /* `e` was added as `null`, and there is one that is annotated so */
        if (e->by_null && other->label && !strcmp(other->label, "null") &&
            ocv_edit_same_platform(e, other))
            return refuse_default(edit, e, other, err);
        if (!other->label != !e->label || (e->label && strcmp(e->label, other->label) != 0))
            continue;
        if (!e->label && ocv_edit_same_platform(e, other))
            return refuse_default(edit, e, other, err);
        if (e->label && ocv_edit_same_place(edit, e, other)) {
            ocv_error_set(err, OCV_ERR_DATA, "the second image for %s/%s with this label", e->os,
                          e->architecture);
            hint_replace(e, other, err);
            return OCV_ERR_DATA;
        }
        if (!e->label)
            continue;
        const char *a =
            ocv_json_text(json_object_get(e->json, "annotations"), OCV_ANNOTATION_PROPERTIES);
        const char *b =
            ocv_json_text(json_object_get(other->json, "annotations"), OCV_ANNOTATION_PROPERTIES);
        ocv_auto(ocv_properties) pa = NULL;
        ocv_auto(ocv_properties) pb = NULL;
        ocv_auto_buffer ta;
        ocv_auto_buffer tb;
        ocv_buffer_init(&ta, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        ocv_buffer_init(&tb, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        if (!a || !b || !strcmp(a, b))
            continue;
        int status = ocv_properties_parse(b, strlen(b), &pb, NULL);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0)
            continue; /* a list that is malformed already is left alone */
        OCV_TRY(ocv_properties_parse(a, strlen(a), &pa, err));
        OCV_TRY(ocv_properties_format(pa, &ta, err));
        OCV_TRY(ocv_properties_format(pb, &tb, err));
        if (ta.len != tb.len || (ta.len && memcmp(ta.data, tb.data, ta.len) != 0))
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "a label means the same properties on every platform");
    }
    return OCV_OK;
}

int ocv_edit_add(struct ocv_edit *edit, const struct ocv_edit_image *image, struct ocv_error *err)
{
    const struct ocv_platform *p = &image->platform;
    if (!p->os || !*p->os || !p->architecture || !*p->architecture)
        return ocv_error_set(err, OCV_ERR_DATA, "the image config names no os and architecture");
    if (image->label)
        OCV_TRY(ocv_edit_check_label(image->label, err));
    bool is_null = image->label && !strcmp(image->label, "null");
    size_t n_properties = image->properties ? ocv_properties_count(image->properties) : 0;
    if (is_null && n_properties)
        return ocv_error_set(err, OCV_ERR_DATA, "the label null cannot have properties");
    if (image->label && !is_null && !n_properties) {
        ocv_error_set(err, OCV_ERR_DATA, "it has no property");
        ocv_error_hint(err, "a build that needs nothing is labelled null%s",
                       edit->original ? "" : ", or --derive reads them from its files");
        return OCV_ERR_DATA;
    }

    struct ocv_edit_entry entry = {0};
    OCV_TRY(make_entry(image, &entry, err));
    entry.added = true;
    entry.by_null = is_null;
    int status = is_null ? ocv_edit_entry_plain(&entry, err) : OCV_OK;
    /* the build, or the default, that the new one replaces */
    for (size_t i = edit->n; status == OCV_OK && image->replace && i-- > 0;) {
        const struct ocv_edit_entry *e = &edit->entries[i];
        if (i >= edit->n || e->changed || e->class == OCV_EDIT_OTHER)
            continue;
        if (entry.class == OCV_EDIT_DEFAULT
                ? e->class == OCV_EDIT_DEFAULT && ocv_edit_same_platform(&entry, e)
                : entry.label && e->label && !strcmp(entry.label, e->label) &&
                      ocv_edit_same_place(edit, &entry, e))
            ocv_edit_drop(edit, i);
    }
    if (status == OCV_OK)
        status = ocv_edit_check_against(edit, &entry, err);
    /* An ordinary image for machines that have an annotated `null`: the ordinary one is the
     * default, because old clients do not need to be told by us. */
    for (size_t i = 0; status == OCV_OK && entry.class == OCV_EDIT_DEFAULT && i < edit->n; i++) {
        const struct ocv_edit_entry *e = &edit->entries[i];
        if (e->class != OCV_EDIT_DEFAULT || !e->label || !ocv_edit_same_platform(e, &entry))
            continue;
        struct ocv_edit_entry null = ocv_edit_take(edit, i);
        null.class = OCV_EDIT_VARIANT;
        status = ocv_edit_put(edit, &null, OCV_OK, err);
        break;
    }
    return ocv_edit_put(edit, &entry, status, err);
}

int ocv_edit_add_raw(struct ocv_edit *edit, const char *json, size_t len, struct ocv_error *err)
{
    struct ocv_edit_entry entry = {0};
    OCV_TRY(ocv_edit_entry_read(json, len, &entry, err));
    for (size_t i = 0; entry.class == OCV_EDIT_OTHER && i < edit->n; i++)
        if (!strcmp(edit->entries[i].text, entry.text)) {
            ocv_edit_entry_free(&entry); /* of two names of one image */
            return OCV_OK;
        }
    int status = ocv_edit_insert(edit, &entry, err);
    if (status < 0)
        ocv_edit_entry_free(&entry);
    return status;
}
