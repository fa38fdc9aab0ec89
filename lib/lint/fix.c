/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Corrections that need no judgement: canonical properties, missing annotations of the index,
 * platforms of the writers' layout, attestations, order. Digests of children never change; the
 * index's own does, and with it its signature. */
#include "lib/lint/lint_internal.h"

#include <stdlib.h>
#include <string.h>

#define REFERENCE_TYPE "vnd.docker.reference.type"
#define REFERENCE_DIGEST "vnd.docker.reference.digest"

struct fix {
    json_t *root, *manifests;
    const struct ocv_index *index;
    size_t changes;
    bool cautious; /* platforms and order stay */
    bool failed;   /* an allocation */
};

static void set(struct fix *fix, json_t *object, const char *key, const char *text)
{
    const char *now = json_string_value(json_object_get(object, key));
    if (now && !strcmp(now, text))
        return;
    fix->failed = json_object_set_new(object, key, json_string(text)) < 0 || fix->failed;
    fix->changes++;
}

static void drop(struct fix *fix, json_t *object, const char *key)
{
    if (json_object_get(object, key) && json_object_del(object, key) == 0)
        fix->changes++;
}

/* A member that is an object; made where it is missing or null. */
static json_t *member(struct fix *fix, json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (json_is_object(value))
        return value;
    fix->failed = json_object_set_new(object, key, json_object()) < 0 || fix->failed;
    return json_object_get(object, key);
}

/* ---- the index's own annotations ---- */

static bool listed(const struct ocv_index *index, const char *ns)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], ns))
            return true;
    return false;
}

/* As readers order them today; those that are used and not listed come last. */
static int fix_namespaces(struct fix *fix, json_t *annotations, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    const char *const *names, *last = "";
    bool declared, missing = false;
    size_t n = ocv_index_namespaces(fix->index, &names, &declared);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(&text, err, "%s%s", i ? ", " : "", names[i]);
    for (size_t i = 0; i < ocv_index_property_count(fix->index) && status == OCV_OK; i++) {
        const char *ns = ocv_index_property(fix->index, (uint32_t)i).ns;
        if (strcmp(ns, last) != 0 && !listed(fix->index, ns)) {
            status = ocv_buffer_printf(&text, err, "%s%s", text.len ? ", " : "", ns);
            missing = true;
        }
        last = ns;
    }
    if (status == OCV_OK && text.len && (!declared || missing))
        set(fix, annotations, OCV_ANNOTATION_NAMESPACES, text.data);
    return status;
}

static int fix_annotations(struct fix *fix, struct ocv_error *err)
{
    json_t *annotations;
    if (!ocv_index_has_variants(fix->index))
        return OCV_OK;
    annotations = member(fix, fix->root, "annotations");
    if (!json_object_get(annotations, OCV_ANNOTATION_SCHEMA))
        set(fix, annotations, OCV_ANNOTATION_SCHEMA, "1");
    return fix_namespaces(fix, annotations, err);
}

/* ---- entries ---- */

static int fix_properties(struct fix *fix, json_t *annotations, const char *also,
                          struct ocv_error *err)
{
    const char *text = json_string_value(json_object_get(annotations, OCV_ANNOTATION_PROPERTIES));
    ocv_auto(ocv_properties) set_of = NULL;
    ocv_auto_buffer joined;
    ocv_auto_buffer canonical;
    ocv_buffer_init(&joined, 64u * 1024);
    ocv_buffer_init(&canonical, 64u * 1024);
    if (!text)
        return OCV_OK;
    int status =
        ocv_buffer_printf(&joined, err, "%s%s%s", text, also ? ", " : "", also ? also : "");
    if (status < 0)
        return status;
    status = ocv_properties_parse(joined.data, joined.len, &set_of, NULL);
    if (status < 0) /* malformed: not ours to guess */
        return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : OCV_OK;
    status = ocv_properties_format(set_of, &canonical, err);
    if (status == OCV_OK)
        set(fix, annotations, OCV_ANNOTATION_PROPERTIES, canonical.data ? canonical.data : "");
    return status;
}

static bool names(const struct fix *fix, const struct ocv_entry *entry, const char *feature)
{
    for (size_t i = 0; i < entry->n_properties; i++)
        if (ocv_lint_is_feature(ocv_index_property(fix->index, entry->properties[i]), feature))
            return true;
    return false;
}

/* The property that says what a real platform.variant said, unless the entry names one itself. */
static const char *level_property(const struct fix *fix, const struct ocv_entry *entry)
{
    const struct ocv_platform *p = &entry->platform;
    for (size_t k = 0; p->variant && p->architecture && k < OCV_LINT_COUNT(ocv_lint_levels); k++) {
        const struct lint_fact *level = &ocv_lint_levels[k];
        char feature[128];
        if (strcmp(level->a, p->architecture) != 0 || strcmp(level->b, p->variant) != 0)
            continue;
        snprintf(feature, sizeof(feature), "%.*s", (int)(strrchr(level->c, ' ') - 3 - level->c),
                 level->c);
        return names(fix, entry, feature) ? NULL : level->c;
    }
    return NULL;
}

static bool is_amd64_v1(const struct ocv_platform *p)
{
    return p->variant && p->architecture && !strcmp(p->variant, "v1") &&
           !strcmp(p->architecture, "amd64");
}

static int fix_image(struct fix *fix, const struct ocv_entry *entry, json_t *object,
                     struct ocv_error *err)
{
    json_t *platform = json_object_get(object, "platform");
    json_t *annotations = json_object_get(object, "annotations");
    const char *also = NULL;
    char wanted[OCV_PLATFORM_HIDDEN_MAX];
    if (!fix->cautious && entry->kind == OCV_ENTRY_VARIANT && entry->has_platform && entry->label) {
        ocv_platform_hide(entry->label, wanted);
        also = level_property(fix, entry);
        set(fix, platform, "variant", wanted);
    } else if (!fix->cautious && is_amd64_v1(&entry->platform)) {
        drop(fix, platform, "variant");
    }
    return fix_properties(fix, annotations, also, err);
}

static void fix_attestation(struct fix *fix, json_t *object)
{
    json_t *platform = member(fix, object, "platform");
    json_t *annotations = json_object_get(object, "annotations");
    set(fix, platform, "architecture", "unknown");
    set(fix, platform, "os", "unknown");
    drop(fix, platform, "variant");
    drop(fix, annotations, OCV_ANNOTATION_LABEL);
    drop(fix, annotations, OCV_ANNOTATION_PROPERTIES);
}

static bool dangling(const struct fix *fix, const json_t *object)
{
    const json_t *annotations = json_object_get(object, "annotations");
    const char *digest = json_string_value(json_object_get(annotations, REFERENCE_DIGEST));
    return json_object_get(annotations, REFERENCE_TYPE) && digest &&
           !ocv_index_find_digest(fix->index, digest);
}

static int fix_entries(struct fix *fix, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < ocv_index_count(fix->index) && status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
        json_t *object = json_array_get(fix->manifests, i);
        if (entry->code == OCV_REJECT_ATTESTATION)
            fix_attestation(fix, object);
        else if (entry->code == OCV_REJECT_NONE)
            status = fix_image(fix, entry, object, err);
    }
    return status;
}

/* A variant, or one that waits for its annotations. */
static bool stands_behind(const struct ocv_entry *entry)
{
    return entry->kind == OCV_ENTRY_VARIANT || ocv_entry_is_unfinished(entry);
}

/* Defaults, variants, then the rest, each in the order it had; attestations of nothing are left
 * out. */
static void fix_order(struct fix *fix)
{
    json_t *ordered = json_array();
    size_t n = ocv_index_count(fix->index);
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < n; i++) {
            const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
            json_t *object = json_array_get(fix->manifests, i);
            bool usable = entry->code == OCV_REJECT_NONE;
            int place = !usable ? 2 : stands_behind(entry) ? 1 : 0;
            if (place != pass)
                continue;
            if (dangling(fix, object)) {
                fix->changes++;
                continue;
            }
            fix->failed = json_array_append(ordered, object) < 0 || fix->failed;
        }
    fix->failed = json_object_set_new(fix->root, "manifests", ordered) < 0 || fix->failed;
}

/* Whether an order that lint finds wrong is there: otherwise nothing is moved. */
static bool disordered(const struct fix *fix)
{
    bool variant = false;
    for (size_t i = 0; i < ocv_index_count(fix->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
        const json_t *object = json_array_get(fix->manifests, i);
        const char *digest = json_string_value(
            json_object_get(json_object_get(object, "annotations"), REFERENCE_DIGEST));
        const struct ocv_entry *subject = digest ? ocv_index_find_digest(fix->index, digest) : NULL;
        if (dangling(fix, object) || (entry->code == OCV_REJECT_ATTESTATION && subject &&
                                      subject->position > entry->position))
            return true;
        if (entry->code != OCV_REJECT_NONE)
            continue;
        if (variant && !stands_behind(entry))
            return true;
        variant = variant || stands_behind(entry);
    }
    return false;
}

static int write_result(const struct fix *fix, const void *bytes, size_t len,
                        struct ocv_buffer *out, struct ocv_error *err)
{
    bool lines = memchr(bytes, '\n', len) != NULL;
    ocv_auto(ocv_index) again = NULL;
    int status = ocv_json_append(fix->root, lines ? JSON_INDENT(2) : JSON_COMPACT, out, err);
    if (status == OCV_OK && lines && ((const char *)bytes)[len - 1] == '\n')
        status = ocv_buffer_append(out, "\n", 1, err);
    if (status == OCV_OK)
        status = ocv_index_parse(out->data, out->len, NULL, &again, err);
    return status;
}

static int fix_once(const void *bytes, size_t len, bool cautious, struct ocv_buffer *out,
                    size_t *changes, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_json *root = NULL;
    int status = ocv_index_parse(bytes, len, NULL, &index, err);
    if (status == OCV_OK)
        status = ocv_json_load("index", bytes, len, OCV_MANIFEST_MAX, &root, err);
    if (status < 0)
        return status;
    struct fix fix = {.root = root, .index = index, .cautious = cautious};
    fix.manifests = json_object_get(root, "manifests");
    if (!json_object_get(root, "mediaType"))
        set(&fix, root, "mediaType", OCV_MEDIA_TYPE_INDEX);
    status = fix_annotations(&fix, err);
    if (status == OCV_OK)
        status = fix_entries(&fix, err);
    if (status == OCV_OK && !cautious && disordered(&fix)) {
        size_t before = fix.changes;
        fix_order(&fix);
        fix.changes += fix.changes == before;
    }
    if (status == OCV_OK && fix.failed)
        status = ocv_error_nomem(err);
    if (status < 0)
        return status;
    *changes = fix.changes;
    return fix.changes ? write_result(&fix, bytes, len, out, err) : OCV_OK;
}

#define PASSES_MAX \
    8u /* a correction may show another: a level that became a property its namespace */

static int fix_all(const void *bytes, size_t len, bool cautious, struct ocv_buffer *out,
                   size_t *changes, struct ocv_error *err)
{
    size_t pass_changes = 0;
    int status = fix_once(bytes, len, cautious, out, &pass_changes, err);
    *changes = pass_changes;
    for (unsigned pass = 1; status == OCV_OK && pass_changes && pass < PASSES_MAX; pass++) {
        struct ocv_buffer next;
        ocv_buffer_init(&next, out->max);
        status = fix_once(out->data, out->len, cautious, &next, &pass_changes, err);
        *changes += pass_changes;
        if (status == OCV_OK && pass_changes) {
            ocv_buffer_free(out);
            *out = next;
        } else {
            ocv_buffer_free(&next);
        }
    }
    return status;
}

int ocv_lint_fix(const void *bytes, size_t len, bool change_default, struct ocv_buffer *out,
                 size_t *changes, struct ocv_buffer *moved, struct ocv_error *err)
{
    int status = fix_all(bytes, len, false, out, changes, err);
    if (status == OCV_OK && *changes)
        status = ocv_lint_fix_moves(bytes, len, out, moved, err);
    if (status < 0 || !moved->len || change_default)
        return status;
    size_t max = out->max;
    ocv_buffer_free(out);
    ocv_buffer_init(out, max);
    return fix_all(bytes, len, true, out, changes, err);
}
