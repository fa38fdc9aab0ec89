/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An index document as parts that keep their bytes: members of the object, and the entries of
 * `manifests` with the blanks between them. Unchanged, it is written exactly as it was read. */
#include "lib/edit/edit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 64u /* an index has five; others are kept */
#define INDENT_MAX 8u   /* blanks for each depth */
#define BREAK_MAX 64u   /* a line end and indentation, NUL included */

static const char empty_index[] =
    "{\"annotations\":{\"" OCV_ANNOTATION_SCHEMA "\":\"1\"},\"manifests\":[],\"mediaType\":"
    "\"" OCV_MEDIA_TYPE_INDEX "\",\"schemaVersion\":2}";

void ocv_author_free(struct ocv_author *author)
{
    if (!author)
        return;
    for (size_t i = 0; i < author->n_members; i++) {
        free(author->members[i].before);
        free(author->members[i].value);
    }
    for (size_t i = 0; i < author->n; i++)
        ocv_author_entry_free(&author->entries[i]);
    free(author->members);
    free(author->entries);
    free(author->original);
    free(author->tail);
    free(author->lead);
    free(author->trail);
    json_decref(author->annotations);
    free(author);
}

/* Read the entries of the list at `text`. */
static int read_entries(struct ocv_author *author, const char *text, size_t len,
                        struct ocv_error *err)
{
    const char *p = text + 1, *end = text + len - 1;
    size_t blanks = ocv_author_scan_blanks(p, end);
    author->lead = strndup(p, blanks);
    p += blanks;
    const char *last = p == end ? text + 1 : p;
    while (p < end) {
        size_t n = ocv_author_scan_value(p, end);
        struct ocv_author_entry entry;
        int status = ocv_author_entry_read(p, n, &entry, err);
        if (status < 0)
            return status;
        struct ocv_author_entry *grown = author->entries;
        if (author->n == author->cap) {
            author->cap = author->cap ? author->cap * 2 : 16;
            grown = realloc(author->entries, author->cap * sizeof(*grown));
        }
        if (!grown) {
            ocv_author_entry_free(&entry);
            return ocv_error_nomem(err);
        }
        author->entries = grown;
        author->entries[author->n++] = entry;
        p += n;
        last = p;
        p += ocv_author_scan_blanks(p, end);
        p += p < end && *p == ',';
        p += ocv_author_scan_blanks(p, end);
    }
    author->trail = strndup(last, (size_t)(end - last));
    return author->lead && author->trail ? OCV_OK : ocv_error_nomem(err);
}

static int add_member(struct ocv_author *author, const char *before, size_t before_len,
                      const char *value, size_t value_len, struct ocv_error *err)
{
    if (author->n_members == MEMBERS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "index: more than %u members", MEMBERS_MAX);
    struct ocv_author_member *grown =
        realloc(author->members, (author->n_members + 1) * sizeof(*grown));
    if (!grown)
        return ocv_error_nomem(err);
    author->members = grown;
    struct ocv_author_member *m = &grown[author->n_members++];
    m->before = strndup(before, before_len);
    m->value = strndup(value, value_len);
    return m->before && m->value ? OCV_OK : ocv_error_nomem(err);
}

/* Cut the object at `text` into its members. */
static int read_members(struct ocv_author *author, const char *text, size_t len,
                        struct ocv_error *err)
{
    const char *p = text, *end = text + len, *start = text;
    int status = OCV_OK;
    p += ocv_author_scan_blanks(p, end) + 1;
    for (;;) {
        p += ocv_author_scan_blanks(p, end);
        if (p >= end || *p == '}')
            break;
        p += *p == ',';
        p += ocv_author_scan_blanks(p, end);
        const char *key = p;
        size_t key_len = ocv_author_scan_value(p, end);
        p += key_len;
        p += ocv_author_scan_blanks(p, end);
        p += p < end && *p == ':';
        p += ocv_author_scan_blanks(p, end);
        size_t n = ocv_author_scan_value(p, end);
        status = add_member(author, start, (size_t)(p - start), p, n, err);
        if (status == OCV_OK && key_len == strlen("\"manifests\"") &&
            !memcmp(key, "\"manifests\"", key_len)) {
            author->manifests = author->n_members - 1;
            status = read_entries(author, p, n, err);
        }
        if (status < 0)
            return status;
        p += n;
        start = p;
    }
    author->tail = strndup(start, (size_t)(end - start));
    return author->tail ? OCV_OK : ocv_error_nomem(err);
}

static int read_annotations(struct ocv_author *author, const char *text, size_t len,
                            struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    int status = ocv_json_load("index", text, len, OCV_MANIFEST_MAX, &root, err);
    if (status < 0)
        return status;
    const char *type = json_string_value(json_object_get(root, "mediaType"));
    author->typed = json_object_get(root, "mediaType") != NULL;
    author->docker = type && !strcmp(type, OCV_MEDIA_TYPE_DOCKER_LIST);
    json_t *found = json_object_get(root, "annotations");
    author->annotations = json_is_object(found) ? json_incref(found) : json_object();
    return author->annotations ? OCV_OK : ocv_error_nomem(err);
}

static int read_document(struct ocv_author *author, const char *text, size_t len,
                         struct ocv_error *err)
{
    int status = read_annotations(author, text, len, err);
    if (status == OCV_OK)
        status = read_members(author, text, len, err);
    if (status == OCV_OK && !author->lead) /* a key written with escapes */
        status = ocv_error_set(err, OCV_ERR_UNSUPPORTED, "index: 'manifests' cannot be edited");
    return status;
}

int ocv_author_new(enum ocv_author_layout layout, struct ocv_author **out, struct ocv_error *err)
{
    ocv_auto(ocv_author) author = calloc(1, sizeof(*author));
    if (!author)
        return ocv_error_nomem(err);
    author->layout = layout;
    author->changed = true;
    author->namespaces_derived = true;
    int status = read_document(author, empty_index, strlen(empty_index), err);
    if (status < 0)
        return status;
    *out = author;
    author = NULL;
    return OCV_OK;
}

/* Namespaces in the order of the default rule? Then they follow what is added and removed. */
static int note_namespaces(struct ocv_author *author, const struct ocv_index *index,
                           struct ocv_error *err)
{
    const char *const *names;
    bool declared;
    struct ocv_buffer now, rule;
    ocv_buffer_init(&now, OCV_MANIFEST_MAX);
    ocv_buffer_init(&rule, OCV_MANIFEST_MAX);
    size_t n = ocv_index_namespaces(index, &names, &declared);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(&now, err, "%s%s", i ? ", " : "", names[i]);
    if (status == OCV_OK)
        status = ocv_author_derive_namespaces(author, &rule, err);
    author->namespaces_derived = status == OCV_OK && declared && now.len == rule.len &&
                                 (now.len == 0 || !memcmp(now.data, rule.data, now.len));
    ocv_buffer_free(&now);
    ocv_buffer_free(&rule);
    return status;
}

int ocv_author_read(const void *bytes, size_t len, struct ocv_author **out, struct ocv_error *err)
{
    ocv_auto(ocv_author) author = calloc(1, sizeof(*author));
    if (!author || !(author->original = malloc(len + 1)))
        return ocv_error_nomem(err);
    memcpy(author->original, bytes, len);
    author->original[len] = '\0'; /* pieces of it are copied as texts */
    author->original_len = len;
    int status = read_document(author, author->original, len, err);
    if (status < 0)
        return status;
    *out = author;
    author = NULL;
    return OCV_OK;
}

int ocv_author_open(const void *bytes, size_t len, const char *media_type,
                    enum ocv_author_layout layout, struct ocv_author **out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_author) author = NULL;
    int status = ocv_index_parse(bytes, len, media_type, &index, err);
    if (status < 0)
        return status;
    if ((status = ocv_author_read(bytes, len, &author, err)) < 0)
        return status;
    if (author->docker) {
        ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                      "a Docker manifest list: registries and tools drop its annotations");
        ocv_error_hint(err, "make a new OCI index of its images");
        return OCV_ERR_UNSUPPORTED;
    }
    author->layout = layout;
    status = note_namespaces(author, index, err);
    if (status < 0)
        return status;
    *out = author;
    author = NULL;
    return OCV_OK;
}

static int put(struct ocv_buffer *out, const char *text, struct ocv_error *err)
{
    return ocv_buffer_append(out, text, strlen(text), err);
}

/* The line end and indentation of what stands at that depth of the document, or "". */
static const char *line_at(const struct ocv_author *author, size_t depth, char out[BREAK_MAX])
{
    const char *end = author->lines ? strrchr(author->lead, '\n') : NULL;
    size_t width = end ? strlen(end + 1) / 2 * depth : 0; /* entries stand two deep */
    if (!end || width + 2 > BREAK_MAX)
        return "";
    snprintf(out, BREAK_MAX, "\n%.*s", (int)width, end + 1);
    return out;
}

/* A changed value, in the manner of the document. */
static int put_json(const struct ocv_author *author, size_t depth, const json_t *json,
                    struct ocv_buffer *out, struct ocv_error *err)
{
    char line[BREAK_MAX];
    const char *end = line_at(author, depth, line);
    size_t width = *end ? strlen(end + 1) / depth : 0;
    size_t flags = author->original ? JSON_COMPACT : JSON_COMPACT | JSON_SORT_KEYS;
    if (width == 0 || width > INDENT_MAX)
        return ocv_json_append(json, flags, out, err);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    int status = ocv_json_append(json, JSON_INDENT(width), &text, err);
    for (size_t at = 0; at < text.len && status == OCV_OK;) {
        size_t n = strcspn(text.data + at, "\n");
        status = ocv_buffer_append(out, text.data + at, n, err);
        at += n;
        if (status == OCV_OK && at < text.len)
            status = put(out, end, err);
        at += at < text.len;
    }
    return status;
}

static int put_entry(const struct ocv_author *author, const struct ocv_author_entry *entry,
                     struct ocv_buffer *out, struct ocv_error *err)
{
    return author->lines && entry->changed ? put_json(author, 2, entry->json, out, err)
                                           : put(out, entry->text, err);
}

static int write_entries(const struct ocv_author *author, struct ocv_buffer *out,
                         struct ocv_error *err)
{
    int status = put(out, "[", err);
    for (size_t i = 0; i < author->n && status == OCV_OK; i++) {
        if (i)
            status = put(out, ",", err);
        if (status == OCV_OK)
            status = put(out, author->lead, err);
        if (status == OCV_OK)
            status = put_entry(author, &author->entries[i], out, err);
    }
    if (status == OCV_OK)
        status = put(out, author->trail, err);
    return status == OCV_OK ? put(out, "]", err) : status;
}

static bool is_annotations(const struct ocv_author_member *m)
{
    return strstr(m->before, "\"annotations\"") != NULL;
}

static int write_value(const struct ocv_author *author, size_t i, bool *annotated,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_author_member *m = &author->members[i];
    if (i == author->manifests)
        return write_entries(author, out, err);
    if (!is_annotations(m) || !author->annotations_changed)
        return put(out, m->value, err);
    *annotated = true;
    return put_json(author, 1, author->annotations, out, err);
}

/* The key of a member that the document had not. */
static int put_key(const struct ocv_author *author, const char *key, struct ocv_buffer *out,
                   struct ocv_error *err)
{
    char line[BREAK_MAX];
    const char *end = line_at(author, 1, line);
    return ocv_buffer_printf(out, err, ",%s\"%s\":%s", end, key, *end ? " " : "");
}

int ocv_author_write(const struct ocv_author *author, struct ocv_buffer *out, struct ocv_error *err)
{
    bool annotated = false;
    int status = OCV_OK;
    if (!author->changed)
        return ocv_buffer_append(out, author->original, author->original_len, err);
    for (size_t i = 0; i < author->n_members && status == OCV_OK; i++) {
        status = put(out, author->members[i].before, err);
        if (status == OCV_OK)
            status = write_value(author, i, &annotated, out, err);
    }
    if (status == OCV_OK && author->annotations_changed && !annotated &&
        json_object_size(author->annotations)) {
        status = put_key(author, "annotations", out, err);
        if (status == OCV_OK)
            status = put_json(author, 1, author->annotations, out, err);
    }
    if (status == OCV_OK && author->add_type) {
        status = put_key(author, "mediaType", out, err);
        if (status == OCV_OK)
            status = put(out, "\"" OCV_MEDIA_TYPE_INDEX "\"", err);
    }
    return status == OCV_OK ? put(out, author->tail, err) : status;
}

size_t ocv_author_count(const struct ocv_author *author)
{
    return author->n;
}

const char *ocv_author_entry(const struct ocv_author *author, size_t i)
{
    return i < author->n ? author->entries[i].text : NULL;
}
