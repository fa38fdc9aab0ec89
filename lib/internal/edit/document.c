/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An index document as parts that keep their bytes: members of the object, and the entries of
 * `manifests` with the blanks between them. Unchanged, it is written exactly as it was read. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/edit/edit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 64u /* an index has five; others are kept */
#define INDENT_MAX 8u   /* blanks for each depth */
#define BREAK_MAX 64u   /* a line end and indentation, NUL included */

static const char empty_index[] =
    "{\"annotations\":{\"" OCV_ANNOTATION_SCHEMA "\":\"1\"},\"manifests\":[],\"mediaType\":"
    "\"" OCV_MEDIA_TYPE_INDEX "\",\"schemaVersion\":2}";

void ocv_edit_free(struct ocv_edit *edit)
{
    if (!edit)
        return;
    for (size_t i = 0; i < edit->n_members; i++) {
        free(edit->members[i].before);
        free(edit->members[i].value);
    }
    for (size_t i = 0; i < edit->n; i++)
        ocv_edit_entry_free(&edit->entries[i]);
    free(edit->members);
    free(edit->entries);
    free(edit->original);
    free(edit->tail);
    free(edit->lead);
    free(edit->trail);
    json_decref(edit->annotations);
    free(edit);
}

/* Blanks at `text`, and the length of the value there, in what is known to be valid JSON. */
static size_t scan_blanks(const char *text, const char *end)
{
    const char *p = text;
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return (size_t)(p - text);
}

static size_t scan_value(const char *text, const char *end)
{
    const char *p = text;
    size_t depth = 0;
    while (p < end) {
        if (*p == '"') {
            for (p++; p < end && *p != '"';)
                p += *p == '\\' ? 2 : 1;
            p = p < end ? p + 1 : end;
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            if (depth == 0)
                break; /* the end of what holds a bare word or number */
            depth--;
            p++;
        } else if (depth == 0 && (*p == ',' || scan_blanks(p, end))) {
            break;
        } else {
            p++;
            if (depth == 0)
                continue; /* a word or number */
        }
        if (depth == 0)
            break;
    }
    return (size_t)(p - text);
}

/* Read the entries of the list at `text`. */
static int read_entries(struct ocv_edit *edit, const char *text, size_t len, struct ocv_error *err)
{
    const char *p = text + 1, *end = text + len - 1;
    size_t blanks = scan_blanks(p, end);
    edit->lead = strndup(p, blanks);
    p += blanks;
    const char *last = p == end ? text + 1 : p;
    while (p < end) {
        size_t n = scan_value(p, end);
        struct ocv_edit_entry entry;
        OCV_TRY(ocv_edit_entry_read(p, n, &entry, err));
        struct ocv_edit_entry *added = ocv_array_grow(&edit->entries, edit->n);
        if (!added) {
            ocv_edit_entry_free(&entry);
            return ocv_error_nomem(err);
        }
        *added = entry;
        edit->n++;
        p += n;
        last = p;
        p += scan_blanks(p, end);
        p += p < end && *p == ',';
        p += scan_blanks(p, end);
    }
    edit->trail = strndup(last, (size_t)(end - last));
    return edit->lead && edit->trail ? OCV_OK : ocv_error_nomem(err);
}

static int read_document(struct ocv_edit *edit, const char *text, size_t len, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load("index", text, len, OCV_MANIFEST_MAX, &root, err));
    const char *type = ocv_json_text(root, "mediaType");
    edit->typed = json_object_get(root, "mediaType") != NULL;
    edit->docker = type && !strcmp(type, OCV_MEDIA_TYPE_DOCKER_LIST);
    json_t *found = json_object_get(root, "annotations");
    edit->annotations = json_is_object(found) ? json_incref(found) : json_object();
    if (!edit->annotations)
        return ocv_error_nomem(err);

    /* cut the object into its members */
    const char *p = text, *end = text + len, *start = text;
    p += scan_blanks(p, end) + 1;
    for (;;) {
        p += scan_blanks(p, end);
        if (p >= end || *p == '}')
            break;
        p += *p == ',';
        p += scan_blanks(p, end);
        const char *key = p;
        size_t key_len = scan_value(p, end);
        p += key_len;
        p += scan_blanks(p, end);
        p += p < end && *p == ':';
        p += scan_blanks(p, end);
        size_t n = scan_value(p, end);
        if (edit->n_members == MEMBERS_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "index: more than %u members", MEMBERS_MAX);
        struct ocv_edit_member *m = ocv_array_grow(&edit->members, edit->n_members);
        if (!m)
            return ocv_error_nomem(err);
        edit->n_members++;
        m->before = strndup(start, (size_t)(p - start));
        m->value = strndup(p, n);
        if (!m->before || !m->value)
            return ocv_error_nomem(err);
        if (key_len == strlen("\"manifests\"") && !memcmp(key, "\"manifests\"", key_len)) {
            edit->manifests = edit->n_members - 1;
            OCV_TRY(read_entries(edit, p, n, err));
        }
        p += n;
        start = p;
    }
    edit->tail = strndup(start, (size_t)(end - start));
    if (!edit->tail)
        return ocv_error_nomem(err);
    if (!edit->lead) /* a key written with escapes */
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "index: 'manifests' cannot be edited");
    return OCV_OK;
}

int ocv_edit_new(enum ocv_edit_layout layout, struct ocv_edit **out, struct ocv_error *err)
{
    ocv_auto(ocv_edit) edit = calloc(1, sizeof(*edit));
    if (!edit)
        return ocv_error_nomem(err);
    edit->layout = layout;
    edit->changed = true;
    edit->namespaces_derived = true;
    OCV_TRY(read_document(edit, empty_index, strlen(empty_index), err));
    *out = ocv_steal(&edit);
    return OCV_OK;
}

int ocv_edit_read(const void *bytes, size_t len, struct ocv_edit **out, struct ocv_error *err)
{
    ocv_auto(ocv_edit) edit = calloc(1, sizeof(*edit));
    if (!edit || !(edit->original = malloc(len + 1)))
        return ocv_error_nomem(err);
    memcpy(edit->original, bytes, len);
    edit->original[len] = '\0'; /* pieces of it are copied as texts */
    edit->original_len = len;
    OCV_TRY(read_document(edit, edit->original, len, err));
    *out = ocv_steal(&edit);
    return OCV_OK;
}

int ocv_edit_open(const void *bytes, size_t len, const char *media_type,
                  enum ocv_edit_layout layout, struct ocv_edit **out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_edit) edit = NULL;
    OCV_TRY(ocv_index_parse(bytes, len, media_type, &index, err));
    OCV_TRY(ocv_edit_read(bytes, len, &edit, err));
    if (edit->docker) {
        ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                      "a Docker manifest list: registries and tools drop its annotations");
        ocv_error_hint(err, "make a new OCI index of its images");
        return OCV_ERR_UNSUPPORTED;
    }
    edit->layout = layout;
    const char *const *names;
    bool declared;
    ocv_auto_buffer now;
    ocv_auto_buffer rule;
    ocv_buffer_init(&now, OCV_MANIFEST_MAX);
    ocv_buffer_init(&rule, OCV_MANIFEST_MAX);
    size_t n = ocv_index_namespaces(index, &names, &declared);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(ocv_buffer_printf(&now, err, "%s%s", i ? ", " : "", names[i]));
    OCV_TRY(ocv_edit_derive_namespaces(edit, &rule, err));
    edit->namespaces_derived =
        declared && now.len == rule.len && (now.len == 0 || !memcmp(now.data, rule.data, now.len));
    *out = ocv_steal(&edit);
    return OCV_OK;
}

static int append_text(struct ocv_buffer *out, const char *text, struct ocv_error *err)
{
    return ocv_buffer_append(out, text, strlen(text), err);
}

/* The line end and indentation of members at that depth of the document, or "". */
static const char *line_at(const struct ocv_edit *edit, size_t depth, char out[BREAK_MAX])
{
    const char *end = edit->lines ? strrchr(edit->lead, '\n') : NULL;
    size_t width = end ? strlen(end + 1) / 2 * depth : 0; /* entries are two levels deep */
    if (!end || width + 2 > BREAK_MAX)
        return "";
    snprintf(out, BREAK_MAX, "\n%.*s", (int)width, end + 1);
    return out;
}

/* A changed value, in the manner of the document. */
static int put_json(const struct ocv_edit *edit, size_t depth, const json_t *json,
                    struct ocv_buffer *out, struct ocv_error *err)
{
    char line[BREAK_MAX];
    const char *end = line_at(edit, depth, line);
    size_t width = *end ? strlen(end + 1) / depth : 0;
    size_t flags = edit->original ? JSON_COMPACT : JSON_COMPACT | JSON_SORT_KEYS;
    if (width == 0 || width > INDENT_MAX)
        return ocv_json_append(json, flags, out, err);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_json_append(json, JSON_INDENT(width), &text, err));
    for (size_t at = 0; at < text.len;) {
        size_t n = strcspn(text.data + at, "\n");
        OCV_TRY(ocv_buffer_append(out, text.data + at, n, err));
        at += n;
        if (at < text.len)
            OCV_TRY(append_text(out, end, err));
        at += at < text.len;
    }
    return OCV_OK;
}

/* The key of a member that the document had not. */
static int put_key(const struct ocv_edit *edit, const char *key, struct ocv_buffer *out,
                   struct ocv_error *err)
{
    char line[BREAK_MAX];
    const char *end = line_at(edit, 1, line);
    return ocv_buffer_printf(out, err, ",%s\"%s\":%s", end, key, *end ? " " : "");
}

int ocv_edit_write(const struct ocv_edit *edit, struct ocv_buffer *out, struct ocv_error *err)
{
    bool annotated = false;
    if (!edit->changed)
        return ocv_buffer_append(out, edit->original, edit->original_len, err);
    for (size_t i = 0; i < edit->n_members; i++) {
        const struct ocv_edit_member *m = &edit->members[i];
        bool annotations = i != edit->manifests && edit->annotations_changed &&
                           strstr(m->before, "\"annotations\"");
        OCV_TRY(append_text(out, m->before, err));
        annotated = annotated || annotations;
        if (i != edit->manifests) {
            OCV_TRY(annotations ? put_json(edit, 1, edit->annotations, out, err)
                                : append_text(out, m->value, err));
            continue;
        }
        OCV_TRY(append_text(out, "[", err));
        for (size_t k = 0; k < edit->n; k++) {
            if (k)
                OCV_TRY(append_text(out, ",", err));
            OCV_TRY(append_text(out, edit->lead, err));
            OCV_TRY(edit->lines && edit->entries[k].changed
                        ? put_json(edit, 2, edit->entries[k].json, out, err)
                        : append_text(out, edit->entries[k].text, err));
        }
        OCV_TRY(append_text(out, edit->trail, err));
        OCV_TRY(append_text(out, "]", err));
    }
    if (edit->annotations_changed && !annotated && json_object_size(edit->annotations)) {
        OCV_TRY(put_key(edit, "annotations", out, err));
        OCV_TRY(put_json(edit, 1, edit->annotations, out, err));
    }
    if (edit->add_type) {
        OCV_TRY(put_key(edit, "mediaType", out, err));
        OCV_TRY(append_text(out, "\"" OCV_MEDIA_TYPE_INDEX "\"", err));
    }
    return append_text(out, edit->tail, err);
}

size_t ocv_edit_count(const struct ocv_edit *edit)
{
    return edit->n;
}

const char *ocv_edit_entry(const struct ocv_edit *edit, size_t i)
{
    return i < edit->n ? edit->entries[i].text : NULL;
}
