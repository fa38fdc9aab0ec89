/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Annotations of the index, and the last check before its bytes are given out: an entry that this
 * library itself would not fully use is refused. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ocv_edit_annotation(const struct ocv_edit *edit, const char *key)
{
    return ocv_json_text(edit->annotations, key);
}

void ocv_edit_from_yaml(struct ocv_edit *edit)
{
    edit->yaml = true;
}

bool ocv_edit_namespaces_derived(const struct ocv_edit *edit)
{
    return edit->changed && edit->namespaces_derived;
}

static int set_annotation(struct ocv_edit *edit, const char *key, const char *value,
                          struct ocv_error *err)
{
    const char *now = ocv_edit_annotation(edit, key);
    if ((!now && !value) || (now && value && !strcmp(now, value)))
        return OCV_OK;
    int status = ocv_edit_put_text(edit->annotations, key, value, err);
    if (status < 0)
        return ocv_error_prefix(err, "annotation");
    edit->annotations_changed = edit->changed = true;
    return OCV_OK;
}

int ocv_edit_set(struct ocv_edit *edit, const char *key, const char *value, struct ocv_error *err)
{
    if (!*key)
        return ocv_error_set(err, OCV_ERR_INVALID, "an annotation without a name");
    if (!strcmp(key, OCV_ANNOTATION_NAMESPACES)) {
        ocv_auto_buffer list;
        ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        OCV_TRY(ocv_buffer_append(&list, "", 0, err));
        edit->namespaces_derived = value == NULL;
        if (!value)
            return OCV_OK;
        for (const char *at = value; *at;) {
            at += strspn(at, ", \t");
            size_t n = strcspn(at, ", \t");
            if (n && !ocv_property_name_valid(at, n))
                return ocv_error_set(err, OCV_ERR_DATA, "'%.*s' is not a namespace", (int)n, at);
            if (n)
                OCV_TRY(ocv_buffer_printf(&list, err, "%s%.*s", list.len ? ", " : "", (int)n, at));
            at += n;
        }
        return set_annotation(edit, OCV_ANNOTATION_NAMESPACES, list.data, err);
    }
    if (!strncmp(key, OCV_ANNOTATION_STATIC, strlen(OCV_ANNOTATION_STATIC))) {
        const char *ns = key + strlen(OCV_ANNOTATION_STATIC);
        if (!ocv_property_name_valid(ns, strlen(ns)) || strlen(ns) > 64)
            return ocv_error_set(err, OCV_ERR_DATA, "'%.64s' is not a namespace", ns);
        if (value && ocv_vocabulary_owns(ns))
            return ocv_error_set(err, OCV_ERR_DATA, "%s is probed on the host: it cannot be static",
                                 ns);
        return set_annotation(edit, key, value, err);
    }
    if (!strncmp(key, "dev.ocivariant.", strlen("dev.ocivariant.")))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.100s is written by this library itself", key);
    return set_annotation(edit, key, value, err);
}

/* Parse the document with the namespaces that the default rule gives. */
int ocv_edit_derive_namespaces(struct ocv_edit *edit, struct ocv_buffer *out, struct ocv_error *err)
{
    json_t *kept = edit->annotations;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    bool was[2] = {edit->changed, edit->annotations_changed};
    ocv_auto_json *without = json_copy(kept);
    if (!without || json_object_size(without) != json_object_size(kept))
        return ocv_error_nomem(err); /* jansson does not report that it lost a member */
    json_object_del(without, OCV_ANNOTATION_NAMESPACES);
    edit->annotations = without;
    edit->changed = edit->annotations_changed = true;
    int status = ocv_edit_write(edit, &bytes, err);
    edit->annotations = kept;
    edit->changed = was[0];
    edit->annotations_changed = was[1];
    if (status < 0)
        return status;
    OCV_TRY(ocv_index_parse(bytes.data, bytes.len, NULL, &index, err));
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s", i ? ", " : "", names[i]));
    return ocv_buffer_append(out, "", 0, err);
}

bool ocv_edit_declares(const struct ocv_index *index, const char *ns)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], ns))
            return true;
    return false;
}

/* A likely typing error is not listed as a namespace. */
static int fail_undeclared(const struct ocv_edit *edit, struct ocv_property p,
                           struct ocv_error *err)
{
    const char *now = ocv_edit_annotation(edit, OCV_ANNOTATION_NAMESPACES);
    char meant[OCV_WORD_MAX] = "", list[400];
    bool wrong =
        ocv_vocabulary_check(p.ns, p.feature, p.value, meant) == OCV_WORD_NAMESPACE && *meant;
    snprintf(list, sizeof(list),
             edit->yaml ? "'namespaces: [%.300s%s%s]'" : "--namespaces '%.300s%s%s'",
             now ? now : "", now && *now ? ", " : "", wrong ? meant : p.ns);
    ocv_error_set(err, OCV_ERR_DATA, "the namespaces of the index leave out '%s'", p.ns);
    if (wrong && ocv_text_listed(now, meant))
        ocv_error_hint(err, "did you mean %s :: %s :: %s?", meant, p.feature, p.value);
    else if (wrong)
        ocv_error_hint(err, "did you mean %s :: %s :: %s? Then %s, too, most important first",
                       meant, p.feature, p.value, list);
    else
        ocv_error_hint(err, "%s, most important first", list);
    return OCV_ERR_DATA;
}

int ocv_edit_format(struct ocv_edit *edit, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_buffer list;
    ocv_auto(ocv_index) index = NULL;
    ocv_buffer_init(&list, OCV_MANIFEST_MAX);
    out->len = 0;
    if (edit->changed && edit->namespaces_derived) {
        OCV_TRY(ocv_edit_derive_namespaces(edit, &list, err));
        OCV_TRY(set_annotation(edit, OCV_ANNOTATION_NAMESPACES, list.data, err));
    }
    OCV_TRY(ocv_edit_write(edit, out, err));
    OCV_TRY(ocv_index_parse(out->data, out->len, NULL, &index, err));
    if (!edit->changed)
        return OCV_OK;
    const char *const *warnings;
    if (edit->annotations_changed && ocv_index_warnings(index, &warnings))
        return ocv_error_set(err, OCV_ERR_DATA, "%s", warnings[0]);
    for (size_t i = 0; i < edit->n; i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        bool changed = edit->entries[i].changed;
        if (edit->entries[i].class == OCV_EDIT_OTHER ||
            (!changed && (!edit->annotations_changed || e->code != OCV_REJECT_NONE)))
            continue; /* an earlier fault does not prevent the edit of another entry */
        if (e->code != OCV_REJECT_NONE)
            return ocv_error_set(err, OCV_ERR_DATA, "entry %zu (%s) would not be used: %s", i,
                                 e->label ? e->label : "no label",
                                 e->detail ? e->detail : ocv_reject_name(e->code));
        for (size_t k = 0; k < e->n_properties; k++) {
            struct ocv_property p = ocv_index_property(index, e->properties[k]);
            if (!ocv_edit_declares(index, p.ns))
                return fail_undeclared(edit, p, err);
        }
    }
    return OCV_OK;
}
