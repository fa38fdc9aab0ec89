/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One entry of an index that is being edited: its bytes and its parsed members. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"
#include "lib/internal/edit/edit_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ocv_edit_entry_free(struct ocv_edit_entry *entry)
{
    free(entry->text);
    json_decref(entry->json);
    *entry = (struct ocv_edit_entry){0};
}

/* Fill what is borrowed from the JSON. */
static void classify_entry(struct ocv_edit_entry *e)
{
    const json_t *annotations = json_object_get(e->json, "annotations");
    const json_t *platform = json_object_get(e->json, "platform");
    e->digest = ocv_json_text_or(e->json, "digest", "");
    e->label = ocv_json_text(annotations, OCV_ANNOTATION_LABEL);
    e->os = ocv_json_text_or(platform, "os", "");
    e->architecture = ocv_json_text_or(platform, "architecture", "");
    e->variant = ocv_json_text_or(platform, "variant", "");
    e->os_version = ocv_json_text_or(platform, "os.version", "");
    e->os_features = json_object_get(platform, "os.features");
    e->subject = ocv_json_text(annotations, OCV_ANNOTATION_REFERENCE_DIGEST);
    const char *type = ocv_json_text_or(e->json, "mediaType", "");
    const char *artifact = ocv_json_text_or(e->json, "artifactType", "");
    bool reference = json_object_get(annotations, OCV_ANNOTATION_REFERENCE_TYPE);
    bool manifest = ocv_media_type_is_manifest(type);
    bool unknown = !strcmp(e->os, "unknown") && !strcmp(e->architecture, "unknown");
    bool plain = !*artifact || !strcmp(artifact, OCV_MEDIA_TYPE_CONFIG) ||
                 !strcmp(artifact, "application/vnd.docker.container.image.v1+json");
    if (reference || !manifest || unknown || !plain)
        e->class = OCV_EDIT_OTHER;
    else if (ocv_platform_is_hidden(e->variant) || (e->label && strcmp(e->label, "null") != 0))
        e->class = OCV_EDIT_VARIANT;
    else
        e->class = OCV_EDIT_DEFAULT;
}

int ocv_edit_entry_read(const char *text, size_t len, struct ocv_edit_entry *out,
                        struct ocv_error *err)
{
    *out = (struct ocv_edit_entry){0};
    OCV_TRY(ocv_json_load("index entry", text, len, OCV_MANIFEST_MAX, &out->json, err));
    out->text = strndup(text, len);
    if (!out->text) {
        ocv_edit_entry_free(out);
        return ocv_error_nomem(err);
    }
    classify_entry(out);
    return OCV_OK;
}

static int write_text(struct ocv_edit_entry *e, size_t flags, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_json_append(e->json, JSON_COMPACT | flags, &text, err));
    free(e->text);
    e->text = ocv_steal(&text.data);
    e->changed = true;
    classify_entry(e);
    return OCV_OK;
}

int ocv_edit_entry_make(json_t *json, struct ocv_edit_entry *out, struct ocv_error *err)
{
    struct ocv_edit_entry raw = {.json = json};
    if (!json)
        return ocv_error_nomem(err);
    int status = write_text(&raw, JSON_SORT_KEYS, err);
    if (status == OCV_OK) /* read again: in memory, too, its keys are then in the order in which
                             they are written */
        status = ocv_edit_entry_read(raw.text, strlen(raw.text), out, err);
    ocv_edit_entry_free(&raw);
    if (status == OCV_OK)
        out->changed = true;
    return status;
}

int ocv_edit_put_text(json_t *object, const char *key, const char *value, struct ocv_error *err)
{
    if (!value) {
        json_object_del(object, key);
        return OCV_OK;
    }
    errno = 0;
    json_t *text = json_string(value);
    if (!text && errno != ENOMEM)
        return ocv_error_set(err, OCV_ERR_DATA, "'%.100s' is not valid text", key);
    if (!text || json_object_set_new_nocheck(object, key, text) < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

int ocv_edit_entry_set(struct ocv_edit_entry *entry, const char *object, const char *key,
                       const char *value, struct ocv_error *err)
{
    json_t *parent = json_object_get(entry->json, object);
    const json_t *was = json_object_get(parent, key);
    const char *now = json_string_value(was);
    if ((!was && !value) || (now && value && !strcmp(now, value)))
        return OCV_OK;
    if (!json_is_object(parent) &&
        json_object_set_new(entry->json, object, parent = json_object()) < 0)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_edit_put_text(parent, key, value, err));
    if (json_object_size(parent) == 0)
        json_object_del(entry->json, object);
    return write_text(entry, 0, err);
}

int ocv_edit_entry_plain(struct ocv_edit_entry *entry, struct ocv_error *err)
{
    const char *properties = ocv_json_text_or(json_object_get(entry->json, "annotations"),
                                              OCV_ANNOTATION_PROPERTIES, "");
    if (properties[strspn(properties, " \t")])
        return ocv_error_set(err, OCV_ERR_DATA, "the label null cannot have properties");
    OCV_TRY(ocv_edit_entry_set(entry, "annotations", OCV_ANNOTATION_LABEL, NULL, err));
    OCV_TRY(ocv_edit_entry_set(entry, "annotations", OCV_ANNOTATION_PROPERTIES, NULL, err));
    if (ocv_platform_is_hidden(entry->variant))
        OCV_TRY(ocv_edit_entry_set(entry, "platform", "variant", NULL, err));
    return OCV_OK;
}

/* What runs on the same machines counts as the same: runtimes take these words for nothing. */
static const char *normal_variant(const struct ocv_edit_entry *e)
{
    if (!strcmp(e->architecture, "amd64") && !strcmp(e->variant, "v1"))
        return "";
    if (!strcmp(e->architecture, "arm64") && !strcmp(e->variant, "v8"))
        return "";
    if (!strcmp(e->architecture, "arm") && !*e->variant)
        return "v7";
    return e->variant;
}

static bool has_features(const json_t *list, const json_t *of)
{
    for (size_t i = 0; i < json_array_size(of); i++) {
        bool found = false;
        for (size_t k = 0; k < json_array_size(list) && !found; k++)
            found = json_equal(json_array_get(list, k), json_array_get(of, i));
        if (!found)
            return false;
    }
    return true;
}

static bool same_system(const struct ocv_edit_entry *a, const struct ocv_edit_entry *b)
{
    return !strcmp(a->os, b->os) && !strcmp(a->architecture, b->architecture) &&
           !strcmp(a->os_version, b->os_version) && has_features(a->os_features, b->os_features) &&
           has_features(b->os_features, a->os_features);
}

bool ocv_edit_same_platform(const struct ocv_edit_entry *a, const struct ocv_edit_entry *b)
{
    return same_system(a, b) && !strcmp(normal_variant(a), normal_variant(b));
}

bool ocv_edit_same_place(const struct ocv_edit *edit, const struct ocv_edit_entry *a,
                         const struct ocv_edit_entry *b)
{
    bool hidden = edit->layout == OCV_EDIT_HIDDEN || ocv_platform_is_hidden(a->variant) ||
                  ocv_platform_is_hidden(b->variant);
    return same_system(a, b) && (hidden || !strcmp(normal_variant(a), normal_variant(b)));
}
