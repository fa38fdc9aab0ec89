/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edits of TOML text: one key at a time, keeping all other bytes. */
#include "cmd/variantctl/setup/toml/toml.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct insertion {
    size_t at;
    const char *before, *after; /* text before and after the statement */
    size_t indent_from, indent; /* bytes of the text to repeat as indentation */
    const char *path;           /* of the key, relative to the place */
};

/* Place the statement on a line after `item`, indented like `like`. */
static struct insertion line_after(const struct toml *toml, const struct toml_item *item,
                                   const struct toml_item *like, const char *path)
{
    const char *nl = toml_newline(toml->text, toml->len);
    bool ended = item->line_end > 0 && toml->text[item->line_end - 1] == '\n';
    size_t indent = like->key - like->line; /* if there are only blanks before it */
    return (struct insertion){.at = item->line_end,
                              .before = ended ? "" : nl,
                              .after = ended ? nl : "",
                              .indent_from = like->line,
                              .indent =
                                  strspn(toml->text + like->line, " \t") >= indent ? indent : 0,
                              .path = path};
}

/* Find the place for `path` = table + key if the table, or a part of it, exists: its header, its
 * braces, or its dotted keys. */
static int find_place(const char *source, const struct toml *toml, const char *table,
                      const char *path, struct insertion *out, struct ocv_error *err)
{
    size_t n = strlen(table);
    const struct toml_item *dotted = NULL;
    size_t dotted_above = 0;
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_item *item = &toml->items[i];
        bool same = strcmp(item->path, table) == 0;
        if (item->kind == TOML_ARRAY_TABLE && *item->path && toml_path_under(table, item->path))
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                                 "%s: a list of tables where one table "
                                 "was expected",
                                 source);
        if (item->kind == TOML_TABLE && same) {
            bool more = i + 1 < toml->count && toml->items[i + 1].kind == TOML_VALUE;
            *out = line_after(toml, item, more ? item + 1 : item, path + n + 1);
            return OCV_OK;
        }
        if (item->kind != TOML_VALUE || !toml_path_under(table, item->path)) {
            const char *above = item->header == TOML_NONE ? "" : toml->items[item->header].path;
            if (item->kind == TOML_VALUE && !item->inside && n > strlen(above) &&
                toml_path_under(item->path, table)) {
                dotted = item;
                dotted_above = *above ? strlen(above) + 1 : 0;
            }
            continue;
        }
        if (toml->text[item->start] != '{')
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                                 "%s: a table was expected, but it is "
                                 "another value",
                                 source);
        /* a table written as { like = "this" } */
        size_t blanks = strspn(toml->text + item->start + 1, " \t");
        bool empty = toml->text[item->start + 1 + blanks] == '}';
        *out = (struct insertion){.at = item->start + 1,
                                  .before = " ",
                                  .after = empty ? (blanks ? "" : " ") : ",",
                                  .path = path + strlen(item->path) + 1};
        if (same)
            return OCV_OK;
        dotted = NULL; /* the table itself may follow inside the braces */
    }
    if (out->path)
        return OCV_OK;
    if (dotted)
        *out = line_after(toml, dotted, dotted, path + dotted_above);
    return OCV_OK;
}

/* The values outside `path`, in order, each as PATH NUL RAW NUL. */
static int file_fingerprint(const struct toml *toml, const char *path, struct ocv_buffer *out,
                            struct ocv_error *err)
{
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_item *item = &toml->items[i];
        /* text of inline tables around the key changes with it; their other members are compared */
        if (item->kind != TOML_VALUE || toml_path_under(item->path, path) ||
            toml->text[item->start] == '{')
            continue;
        OCV_TRY(ocv_buffer_append(out, item->path, strlen(item->path) + 1, err));
        OCV_TRY(ocv_buffer_append(out, toml->text + item->start, item->end - item->start, err));
        OCV_TRY(ocv_buffer_append(out, "", 1, err));
    }
    return OCV_OK;
}

int toml_check_others(const char *source, const struct toml *before, const struct ocv_buffer *text,
                      const char *path, struct ocv_error *err)
{
    toml_auto after = {0};
    ocv_auto_buffer old, new;
    ocv_buffer_init(&old, 4 * TOML_MAX + (size_t)TOML_ITEMS_MAX * TOML_KEY_MAX);
    ocv_buffer_init(&new, old.max);
    OCV_TRY(toml_scan(source, text->data, text->len, &after, err));
    OCV_TRY(file_fingerprint(before, path, &old, err));
    OCV_TRY(file_fingerprint(&after, path, &new, err));
    if (old.len != new.len || (old.len && memcmp(old.data, new.data, old.len) != 0))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: written in a way that cannot be edited here without changing "
                             "other settings",
                             source);
    return OCV_OK;
}

/* `raw` NULL: the key must be gone. */
static int check_edit(const char *source, const struct toml *before, const struct ocv_buffer *text,
                      const char *path, const char *raw, struct ocv_error *err)
{
    toml_auto after = {0};
    OCV_TRY(toml_check_others(source, before, text, path, err));
    OCV_TRY(toml_scan(source, text->data, text->len, &after, err));
    const struct toml_item *item = toml_find(&after, path);
    bool set = raw && item && item->end - item->start == strlen(raw) &&
               memcmp(after.text + item->start, raw, strlen(raw)) == 0;
    if (raw ? !set : item != NULL)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: written in a way that cannot be edited here", source);
    return OCV_OK;
}

static int set_key(const char *source, struct ocv_buffer *text, const struct toml *toml,
                   const char *table, const char *key, const char *path, const char *raw,
                   struct ocv_error *err)
{
    const struct toml_item *item = toml_find(toml, path);
    const char *nl = toml_newline(text->data, text->len);
    struct insertion place = {0};
    ocv_auto_buffer line;
    ocv_buffer_init(&line, TOML_MAX);
    if (item)
        return text_splice(text, item->start, item->end, raw, strlen(raw), err);
    if (!*table) {
        /* Root keys come before the first header. */
        size_t at = text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        OCV_TRY(toml_quote_path(&line, key, err));
        OCV_TRY(ocv_buffer_printf(&line, err, " = %s%s", raw, nl));
        return text_splice(text, at, at, line.data, line.len, err);
    }
    OCV_TRY(find_place(source, toml, table, path, &place, err));
    if (place.path) {
        OCV_TRY(ocv_buffer_printf(&line, err, "%s%.*s", place.before, (int)place.indent,
                                  text->data + place.indent_from));
        OCV_TRY(toml_quote_path(&line, place.path, err));
        OCV_TRY(ocv_buffer_printf(&line, err, " = %s%s", raw, place.after));
        return text_splice(text, place.at, place.at, line.data, line.len, err);
    }
    /* A new table at the end of the file. */
    bool ended = text->len == 0 || text->data[text->len - 1] == '\n';
    OCV_TRY(ocv_buffer_printf(text, err, "%s%s[", ended ? "" : nl, text->len ? nl : ""));
    OCV_TRY(toml_quote_path(text, table, err));
    OCV_TRY(ocv_buffer_printf(text, err, "]%s  ", nl));
    OCV_TRY(toml_quote_path(text, key, err));
    return ocv_buffer_printf(text, err, " = %s%s", raw, nl);
}

int toml_scan_copy(const char *source, const struct ocv_buffer *text, const char *table,
                   const char *key, struct ocv_buffer *copy, struct toml *toml, char **path,
                   struct ocv_error *err)
{
    ocv_buffer_init(copy, text->max);
    OCV_TRY(ocv_buffer_append(copy, text->data, text->len, err));
    OCV_TRY(toml_scan(source, copy->data, copy->len, toml, err));
    if ((*path = toml_join(table, key, err)) == NULL)
        return OCV_ERR_NOMEM;
    return OCV_OK;
}

int toml_set(const char *source, struct ocv_buffer *text, const char *table, const char *key,
             const char *raw, struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy;
    ocv_auto_free char *path = NULL;
    size_t n = 0;
    OCV_TRY(toml_scan_copy(source, text, table, key, &copy, &toml, &path, err));
    for (size_t i = 0; i < toml.count; i++)
        n += toml.items[i].kind == TOML_VALUE && strcmp(toml.items[i].path, path) == 0;
    if (n > 1)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: duplicate key", source);
    OCV_TRY(set_key(source, text, &toml, table, key, path, raw, err));
    return check_edit(source, &toml, text, path, raw, err);
}

/* From the key to the next one; for the last one with the comma before it. */
static void span_in_braces(const struct toml *toml, const struct toml_item *item, size_t *from,
                           size_t *to)
{
    const char *text = toml->text;
    size_t at = item->end;
    while (strchr(" \t\r\n", text[at]))
        at++;
    *from = item->key;
    *to = item->end;
    if (text[at] == ',') {
        *to = at + 1;
        while (text[*to] == ' ' || text[*to] == '\t')
            ++*to;
        return;
    }
    for (at = item->key; strchr(" \t\r\n", text[at - 1]);)
        at--;
    if (text[at - 1] == ',') {
        *from = at - 1;
    } else { /* the only key */
        *from = at;
        while (strchr(" \t\r\n", text[*to]))
            ++*to;
    }
}

int toml_unset(const char *source, struct ocv_buffer *text, const char *table, const char *key,
               bool table_too, struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy;
    ocv_auto_free char *path = NULL;
    OCV_TRY(toml_scan_copy(source, text, table, key, &copy, &toml, &path, err));
    const struct toml_item *item = toml_find(&toml, path);
    if (!item)
        return OCV_OK;
    size_t from = item->line, to = item->line_end;
    if (item->inside)
        span_in_braces(&toml, item, &from, &to);
    OCV_TRY(text_splice(text, from, to, NULL, 0, err));
    /* Where the header has no keys left: remove its line, and the blank line that was added before
     * it. */
    toml_auto left = {0};
    if (table_too && *table)
        OCV_TRY(toml_scan(source, text->data, text->len, &left, err));
    for (size_t i = 0; i < left.count; i++) {
        const struct toml_item *header = &left.items[i];
        bool empty = i + 1 == left.count || left.items[i + 1].kind != TOML_VALUE;
        if (header->kind != TOML_TABLE || strcmp(header->path, table) != 0 || !empty)
            continue;
        from = header->line;
        if (from >= 2 && text->data[from - 1] == '\n' && text->data[from - 2] == '\n')
            from--;
        else if (from >= 4 && memcmp(text->data + from - 4, "\r\n\r\n", 4) == 0)
            from -= 2;
        OCV_TRY(text_splice(text, from, header->line_end, NULL, 0, err));
        break;
    }
    return check_edit(source, &toml, text, path, NULL, err);
}
