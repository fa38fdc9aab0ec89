/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Corrections that need no decision: canonical properties, missing annotations of the index,
 * platforms of the writers' layout, attestations, order. Digests of children never change; the
 * index's own does, and with it its signature. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"
#include "lib/internal/lint/lint_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct fix {
    struct ocv_edit *document;
    const struct ocv_index *index; /* the same; entries keep their places until fix_order */
    size_t changes;
    bool cautious;           /* platforms and order stay */
    struct ocv_buffer *said; /* a line for each correction; may be NULL */
};

static int say(struct fix *fix, size_t rule, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(4, 5);

/* Count a correction: "OCV502 default-not-first: ...". */
static int say(struct fix *fix, size_t rule, struct ocv_error *err, const char *format, ...)
{
    char text[512];
    const struct ocv_lint_rule *of = ocv_lint_rule(rule);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fix->changes++;
    return fix->said ? ocv_buffer_printf(fix->said, err, "%s %s: %s\n", of->id, of->name, text)
                     : OCV_OK;
}

/* Set a text of the entry's platform or annotations, or with NULL remove what is there. */
static int set_member(struct fix *fix, size_t rule, size_t i, const char *object, const char *key,
                      const char *text, struct ocv_error *err)
{
    char name[80];
    struct ocv_edit_entry *entry = &fix->document->entries[i];
    const json_t *was = json_object_get(json_object_get(entry->json, object), key);
    const char *now = json_string_value(was);
    if (text ? now && !strcmp(now, text) : !was)
        return OCV_OK;
    /* the entry as people know it */
    const struct ocv_entry *e = ocv_index_entry(fix->index, i);
    if (e->label)
        snprintf(name, sizeof(name), "%.79s", e->label);
    else if (e->kind == OCV_ENTRY_NULL || ocv_index_shows_default(fix->index, e))
        snprintf(name, sizeof(name), "the default");
    else
        snprintf(name, sizeof(name), "entry %zu", i + 1);
    OCV_TRY(say(fix, rule, err, "%s: %s %s%s", name, key, text ? "is now " : "left out",
                text ? text : ""));
    return ocv_edit_entry_set(entry, object, key, text, err);
}

static int set_annotation(struct fix *fix, size_t rule, const char *key, const char *text,
                          struct ocv_error *err)
{
    const char *now = ocv_edit_annotation(fix->document, key);
    if (now && !strcmp(now, text))
        return OCV_OK;
    fix->document->annotations_changed = true;
    OCV_TRY(say(fix, rule, err, "%s is now %s", key, text));
    return ocv_edit_put_text(fix->document->annotations, key, text, err);
}

static int fix_annotations(struct fix *fix, struct ocv_error *err)
{
    if (!ocv_index_has_variants(fix->index))
        return OCV_OK;
    if (!json_object_get(fix->document->annotations, OCV_ANNOTATION_SCHEMA))
        OCV_TRY(set_annotation(fix, OCV_LINT_SCHEMA_MISSING, OCV_ANNOTATION_SCHEMA, "1", err));
    /* As readers order them today; those that are used and not listed come last. */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    char meant[OCV_WORD_MAX]; /* to list a slip of the pen would hide it */
    const char *const *names, *last = "";
    bool declared, missing = false;
    size_t n = ocv_index_namespaces(fix->index, &names, &declared);
    for (size_t i = 0; i < n; i++)
        if (declared || !ocv_lint_misspelt(names[i], meant))
            OCV_TRY(ocv_buffer_printf(&text, err, "%s%s", text.len ? ", " : "", names[i]));
    for (size_t i = 0; i < ocv_index_property_count(fix->index); i++) {
        const char *ns = ocv_index_property(fix->index, (uint32_t)i).ns;
        if (strcmp(ns, last) != 0 && !ocv_edit_declares(fix->index, ns) &&
            !ocv_lint_misspelt(ns, meant)) {
            OCV_TRY(ocv_buffer_printf(&text, err, "%s%s", text.len ? ", " : "", ns));
            missing = true;
        }
        last = ns;
    }
    if (!text.len || (declared && !missing))
        return OCV_OK;
    return set_annotation(fix,
                          declared ? OCV_LINT_NAMESPACE_NOT_LISTED : OCV_LINT_NAMESPACES_MISSING,
                          OCV_ANNOTATION_NAMESPACES, text.data, err);
}

static int fix_properties(struct fix *fix, size_t i, const char *also, struct ocv_error *err)
{
    const json_t *annotations = json_object_get(fix->document->entries[i].json, "annotations");
    const char *text = ocv_json_text(annotations, OCV_ANNOTATION_PROPERTIES);
    ocv_auto(ocv_properties) set_of = NULL;
    ocv_auto_buffer joined;
    ocv_auto_buffer canonical;
    ocv_buffer_init(&joined, 64u * 1024);
    ocv_buffer_init(&canonical, 64u * 1024);
    if (!text)
        return OCV_OK;
    OCV_TRY(ocv_buffer_printf(&joined, err, "%s%s%s", text, also ? ", " : "", also ? also : ""));
    int status = ocv_properties_parse(joined.data, joined.len, &set_of, NULL);
    if (status < 0) /* malformed: the right value is not known */
        return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : OCV_OK;
    OCV_TRY(ocv_properties_format(set_of, &canonical, err));
    return set_member(fix, also ? OCV_LINT_PLATFORM_LEVEL : OCV_LINT_PROPERTY_NOT_CANONICAL, i,
                      "annotations", OCV_ANNOTATION_PROPERTIES,
                      canonical.data ? canonical.data : "", err);
}

/* True for an attestation of an image that is not in the index. */
static bool is_dangling(const struct fix *fix, size_t i)
{
    const struct ocv_edit_entry *e = &fix->document->entries[i];
    return json_object_get(json_object_get(e->json, "annotations"),
                           OCV_ANNOTATION_REFERENCE_TYPE) &&
           e->subject && !ocv_index_find_digest(fix->index, e->subject);
}

static int fix_entries(struct fix *fix, struct ocv_error *err)
{
    for (size_t i = 0; i < ocv_index_count(fix->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
        if (entry->code == OCV_REJECT_ATTESTATION) {
            static const char *const wanted[][3] = {
                {"platform", "architecture", "unknown"},
                {"platform", "os", "unknown"},
                {"platform", "variant", NULL},
                {"annotations", OCV_ANNOTATION_LABEL, NULL},
                {"annotations", OCV_ANNOTATION_PROPERTIES, NULL}};
            for (size_t k = 0; k < OCV_LINT_COUNT(wanted); k++)
                OCV_TRY(set_member(
                    fix, k < 3 ? OCV_LINT_ATTESTATION_PLATFORM : OCV_LINT_ATTESTATION_ANNOTATED, i,
                    wanted[k][0], wanted[k][1], wanted[k][2], err));
        } else if (entry->code == OCV_REJECT_NONE) {
            const struct ocv_platform *p = &entry->platform;
            const char *also = NULL, *name = ocv_lint_architecture(p->architecture);
            char wanted[OCV_PLATFORM_HIDDEN_MAX], feature[128];
            if (name)
                OCV_TRY(set_member(fix, OCV_LINT_ARCHITECTURE_NAME, i, "platform", "architecture",
                                   name, err));
            if (!fix->cautious && entry->kind == OCV_ENTRY_VARIANT && entry->has_platform &&
                entry->label) {
                ocv_platform_hide(entry->label, wanted);
                /* what a real platform.variant said, unless the entry names it itself */
                also = ocv_lint_level(p->architecture, p->variant, feature);
                for (size_t k = 0; also && k < entry->n_properties; k++)
                    if (ocv_lint_is_feature(ocv_index_property(fix->index, entry->properties[k]),
                                            feature))
                        also = NULL;
                OCV_TRY(set_member(fix, OCV_LINT_PLATFORM_VARIANT_NOT_LABEL, i, "platform",
                                   "variant", wanted, err));
            } else if (!fix->cautious && ocv_text_same(p->architecture, "amd64") &&
                       ocv_text_same(p->variant, "v1"))
                OCV_TRY(set_member(fix, OCV_LINT_AMD64_V1, i, "platform", "variant", NULL, err));
            OCV_TRY(fix_properties(fix, i, also, err));
        }
    }
    return OCV_OK;
}

/* A variant, or one that waits for its annotations. */
static bool stands_behind(const struct ocv_entry *entry)
{
    return entry->kind == OCV_ENTRY_VARIANT || ocv_entry_is_unfinished(entry);
}

#define NOTHING_WRONG SIZE_MAX

/* Defaults, variants, then the rest, each in the order it had; attestations of nothing are left
 * out. Unless the order breaks a rule nothing is moved. */
static int fix_order(struct fix *fix, struct ocv_error *err)
{
    struct ocv_edit *document = fix->document;
    size_t n = document->n, kept = 0, dangling = 0, rule = NOTHING_WRONG;
    bool variant = false;
    for (size_t i = 0; i < n && rule == NOTHING_WRONG; i++) {
        const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
        const char *digest = document->entries[i].subject;
        const struct ocv_entry *subject = digest ? ocv_index_find_digest(fix->index, digest) : NULL;
        bool usable = entry->code == OCV_REJECT_NONE;
        if (is_dangling(fix, i))
            rule = OCV_LINT_ATTESTATION_DANGLING;
        else if (entry->code == OCV_REJECT_ATTESTATION && subject &&
                 subject->position > entry->position)
            rule = OCV_LINT_ATTESTATION_FIRST;
        else if (usable && variant && !stands_behind(entry))
            rule = OCV_LINT_DEFAULT_NOT_FIRST;
        variant = variant || (usable && stands_behind(entry));
    }
    if (rule == NOTHING_WRONG)
        return OCV_OK;
    struct ocv_edit_entry *ordered = calloc(n + 1, sizeof(*ordered));
    if (!ordered)
        return ocv_error_nomem(err);
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < n; i++) {
            const struct ocv_entry *entry = ocv_index_entry(fix->index, i);
            bool usable = entry->code == OCV_REJECT_NONE;
            int place = !usable ? 2 : stands_behind(entry) ? 1 : 0;
            if (place == pass && is_dangling(fix, i))
                dangling++;
            else if (place == pass)
                ordered[kept++] = document->entries[i];
        }
    for (size_t i = 0; i < n; i++)
        if (is_dangling(fix, i))
            ocv_edit_entry_free(&document->entries[i]);
    memcpy(document->entries, ordered, kept * sizeof(*ordered));
    free(ordered);
    document->n = kept;
    if (dangling)
        return say(fix, OCV_LINT_ATTESTATION_DANGLING, err, "left out %zu that %s of no image here",
                   dangling, dangling == 1 ? "is" : "are");
    return say(fix, rule, err,
               rule == OCV_LINT_ATTESTATION_FIRST ? "moved the attestations behind the images"
                                                  : "moved the default to the front");
}

static int fix_once(const void *bytes, size_t len, bool cautious, struct ocv_buffer *out,
                    size_t *changes, struct ocv_buffer *said, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_index) again = NULL;
    ocv_auto(ocv_edit) document = NULL;
    OCV_TRY(ocv_index_parse(bytes, len, NULL, &index, err));
    OCV_TRY(ocv_edit_read(bytes, len, &document, err));
    struct fix fix = {.document = document, .index = index, .cautious = cautious, .said = said};
    document->add_type = !document->typed;
    if (document->add_type)
        OCV_TRY(say(&fix, OCV_LINT_MEDIA_TYPE_MISSING, err, "wrote the index's own mediaType"));
    OCV_TRY(fix_annotations(&fix, err));
    OCV_TRY(fix_entries(&fix, err));
    if (!cautious)
        OCV_TRY(fix_order(&fix, err));
    *changes = fix.changes;
    if (!fix.changes)
        return OCV_OK;
    document->changed = document->lines = true;
    OCV_TRY(ocv_edit_write(document, out, err));
    return ocv_index_parse(out->data, out->len, NULL, &again, err);
}

#define PASSES_MAX \
    8u /* a correction may show another: a level that became a property its namespace */

static int fix_all(const void *bytes, size_t len, bool cautious, struct ocv_buffer *out,
                   size_t *changes, struct ocv_buffer *said, struct ocv_error *err)
{
    size_t pass_changes = 0;
    int status = fix_once(bytes, len, cautious, out, &pass_changes, said, err);
    *changes = pass_changes;
    for (unsigned pass = 1; status == OCV_OK && pass_changes && pass < PASSES_MAX; pass++) {
        struct ocv_buffer next;
        ocv_buffer_init(&next, out->max);
        status = fix_once(out->data, out->len, cautious, &next, &pass_changes, said, err);
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

/* What a correction means for clients that know nothing of variants: whether they get another image
 * afterwards. They take the first entry of the platform that fits them best. */

static bool is_image(const struct ocv_entry *entry)
{
    /* a malformed label does not stop an older client */
    return entry->has_platform &&
           (entry->code == OCV_REJECT_NONE || entry->code >= OCV_REJECT_LABEL_MISSING);
}

/* The machine that an entry is for. Older clients detect versions of arm alone. */
static struct ocv_platform machine_of(const struct ocv_entry *entry)
{
    struct ocv_platform machine = {.os = entry->platform.os,
                                   .architecture = entry->platform.architecture};
    if (machine.architecture && !strcmp(machine.architecture, "arm") &&
        !ocv_platform_is_hidden(entry->platform.variant))
        machine.variant = entry->platform.variant;
    return machine;
}

int ocv_lint_fix(const void *bytes, size_t len, bool change_default, struct ocv_buffer *out,
                 size_t *changes, struct ocv_buffer *said, struct ocv_buffer *moved,
                 struct ocv_error *err)
{
    ocv_auto(ocv_index) before = NULL;
    ocv_auto(ocv_index) after = NULL;
    OCV_TRY(fix_all(bytes, len, false, out, changes, said, err));
    if (*changes) {
        OCV_TRY(ocv_index_parse(bytes, len, NULL, &before, err));
        OCV_TRY(ocv_index_parse(out->data, out->len, NULL, &after, err));
    }
    /* a correction adds no platform, so those of before are all */
    for (size_t i = 0; before && i < ocv_index_count(before); i++) {
        const struct ocv_entry *entry = ocv_index_entry(before, i);
        struct ocv_platform machine = machine_of(entry);
        char name[128];
        bool seen = !is_image(entry); /* or this machine was looked at with an entry before */
        for (size_t k = 0; k < i && !seen; k++) {
            const struct ocv_entry *earlier = ocv_index_entry(before, k);
            struct ocv_platform other = machine_of(earlier);
            seen = is_image(earlier) && ocv_text_same(other.os, machine.os) &&
                   ocv_text_same(other.architecture, machine.architecture) &&
                   ocv_text_same(other.variant, machine.variant);
        }
        if (seen)
            continue;
        const struct ocv_entry *was = ocv_index_older_choice(before, &machine, true);
        const struct ocv_entry *is = ocv_index_older_choice(after, &machine, true);
        ocv_platform_format(&machine, name, sizeof(name));
        if (was ? !is || strcmp(was->digest, is->digest) != 0 : is != NULL)
            OCV_TRY(ocv_buffer_printf(moved, err, "%s: %s instead of %s\n", name,
                                      is ? is->digest : "no image", was ? was->digest : "none"));
    }
    if (!moved->len || change_default)
        return OCV_OK;
    size_t max = out->max;
    ocv_buffer_free(out);
    ocv_buffer_init(out, max);
    if (said)
        said->len = 0;
    return fix_all(bytes, len, true, out, changes, said, err);
}
