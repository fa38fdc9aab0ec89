/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Removing and annotating entries. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/edit/edit_internal.h"

#include <stdio.h>
#include <string.h>

static bool is_for(const struct ocv_edit_entry *e, const struct ocv_platform *platform)
{
    return !platform ||
           ((!platform->os || !strcmp(platform->os, e->os)) &&
            (!platform->architecture || !strcmp(platform->architecture, e->architecture)));
}

/* `null` is the entry with that label, or, if there is none, the ordinary images. */
static const char *meaning_of(const struct ocv_edit *edit, const char *which,
                              const struct ocv_platform *platform)
{
    bool ordinary = false;
    if (!which || strcmp(which, "null") != 0)
        return which;
    for (size_t i = 0; i < edit->n; i++) {
        const struct ocv_edit_entry *e = &edit->entries[i];
        if (e->label && !strcmp(e->label, which) && is_for(e, platform))
            return which;
        ordinary = ordinary || (!e->label && e->class == OCV_EDIT_DEFAULT && is_for(e, platform));
    }
    return ordinary ? NULL : which;
}

static bool is_meant(const struct ocv_edit_entry *e, const char *which,
                     const struct ocv_platform *platform)
{
    if (!is_for(e, platform))
        return false;
    if (!which)
        return !e->label && e->class == OCV_EDIT_DEFAULT;
    return strchr(which, ':') ? !strcmp(which, e->digest) : e->label && !strcmp(which, e->label);
}

/* The names that it has here, other than its digest. */
static const char *name_of(const struct ocv_edit_entry *e)
{
    return e->label ? e->label : e->class == OCV_EDIT_DEFAULT ? "null" : NULL;
}

static int not_found(const struct ocv_edit *edit, const char *which, struct ocv_error *err)
{
    char names[200] = "";
    if (!which)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "there is no default");
    for (size_t i = 0; i < edit->n; i++) {
        const char *label = name_of(&edit->entries[i]);
        size_t used = strlen(names);
        bool told = false; /* a label occurs once for each platform */
        for (size_t k = 0; label && k < i; k++) {
            const char *other = name_of(&edit->entries[k]);
            told = told || (other && !strcmp(other, label));
        }
        if (label && !told)
            snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", label);
    }
    ocv_error_set(err, OCV_ERR_NOT_FOUND, "no entry %.150s", which);
    if (*names)
        ocv_error_hint(err, "it has: %s%s", names, strlen(names) + 1 == sizeof(names) ? "..." : "");
    return OCV_ERR_NOT_FOUND;
}

void ocv_edit_drop(struct ocv_edit *edit, size_t i)
{
    struct ocv_edit_entry gone = ocv_edit_take(edit, i);
    bool used = false;
    for (size_t k = 0; k < edit->n; k++)
        used = used || (edit->entries[k].class != OCV_EDIT_OTHER &&
                        !strcmp(edit->entries[k].digest, gone.digest));
    for (size_t k = edit->n; !used && k-- > 0;) { /* what attests to it */
        const struct ocv_edit_entry *e = &edit->entries[k];
        if (e->class != OCV_EDIT_OTHER || !e->subject || strcmp(e->subject, gone.digest) != 0)
            continue;
        struct ocv_edit_entry orphan = ocv_edit_take(edit, k);
        ocv_edit_entry_free(&orphan);
    }
    ocv_edit_entry_free(&gone);
}

int ocv_edit_properties(const struct ocv_edit *edit, const char *label, struct ocv_properties **out,
                        struct ocv_error *err)
{
    for (size_t i = 0; i < edit->n; i++) {
        const struct ocv_edit_entry *e = &edit->entries[i];
        const char *text =
            ocv_json_text(json_object_get(e->json, "annotations"), OCV_ANNOTATION_PROPERTIES);
        if (text && e->label && !strcmp(e->label, label))
            return ocv_properties_parse(text, strlen(text), out, err);
    }
    return not_found(edit, label, err);
}

int ocv_edit_remove(struct ocv_edit *edit, const char *which, const struct ocv_platform *platform,
                    struct ocv_error *err)
{
    size_t removed = 0;
    const char *meant = meaning_of(edit, which, platform);
    for (size_t i = edit->n; i-- > 0;) {
        if (i >= edit->n || !is_meant(&edit->entries[i], meant, platform))
            continue;
        ocv_edit_drop(edit, i);
        removed++;
    }
    return removed ? OCV_OK : not_found(edit, which, err);
}

/* Entries that are meant stand first in `list`, by digest of their text; edited one by one. */
int ocv_edit_annotate(struct ocv_edit *edit, const char *which, const struct ocv_platform *platform,
                      const char *label, const struct ocv_properties *properties,
                      struct ocv_error *err)
{
    ocv_auto_buffer text;
    size_t found = 0;
    OCV_TRY(ocv_edit_canonical(properties, &text, err));
    if (label)
        OCV_TRY(ocv_edit_check_label(label, err));
    const char *meant = meaning_of(edit, which, platform);
    for (size_t i = 0; i < edit->n; i++)
        edit->entries[i].order = is_meant(&edit->entries[i], meant, platform) &&
                                 edit->entries[i].class != OCV_EDIT_OTHER;
    for (size_t i = 0; i < edit->n; i++) {
        struct ocv_edit_entry *e = &edit->entries[i];
        if (e->order != 1)
            continue;
        found++;
        if (properties)
            OCV_TRY(
                ocv_edit_entry_set(e, "annotations", OCV_ANNOTATION_PROPERTIES, text.data, err));
        if (label)
            OCV_TRY(!strcmp(label, "null")
                        ? ocv_edit_entry_plain(e, err)
                        : ocv_edit_entry_set(e, "annotations", OCV_ANNOTATION_LABEL, label, err));
    }
    /* their positions and platforms, after the annotations changed */
    for (size_t i = 0; i < edit->n;) {
        if (edit->entries[i].order != 1 || !edit->entries[i].changed) {
            i++;
            continue;
        }
        edit->entries[i].order = 0;
        struct ocv_edit_entry entry = ocv_edit_take(edit, i);
        OCV_TRY(ocv_edit_put(edit, &entry, ocv_edit_check_against(edit, &entry, err), err));
        i = 0;
    }
    return found ? OCV_OK : not_found(edit, which, err);
}
