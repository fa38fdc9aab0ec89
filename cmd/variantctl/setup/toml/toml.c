/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses TOML 1.0 for positions. Strict about structure; bare values are not checked. */
#include "cmd/variantctl/setup/toml/toml.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static int read_value(struct toml_scanner *s, bool keep, unsigned depth);

static bool bare_char(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Read a."b".c and append it to the path. */
static int read_key(struct toml_scanner *s)
{
    for (;;) {
        toml_skip_blanks(s);
        int status = s->path.len ? ocv_buffer_append(&s->path, TOML_DOT, 1, s->err) : OCV_OK;
        size_t before = s->path.len, start = s->at;
        if (status < 0)
            return toml_fail(s, "a key that is too long");
        if (toml_peek(s) == '"' || toml_peek(s) == '\'') {
            char three[4] = {s->text[s->at], s->text[s->at], s->text[s->at], '\0'};
            if (toml_looking_at(s, three))
                return toml_fail(s, "a key over several lines");
            status = toml_read_string(s, &s->path);
        } else {
            while (bare_char(toml_peek(s)))
                s->at++;
            if (s->at == start)
                return toml_fail(s, "a key is missing");
            status = ocv_buffer_append(&s->path, s->text + start, s->at - start, s->err);
        }
        if (status < 0)
            return status;
        if (s->path.len > before && memchr(s->path.data + before, *TOML_DOT, s->path.len - before))
            return toml_fail(s, "a control character in a key");
        toml_skip_blanks(s);
        if (toml_peek(s) != '.')
            return OCV_OK;
        s->at++;
    }
}

static int set_path_len(struct toml_scanner *s, size_t len)
{
    s->path.len = len;
    if (s->path.data)
        s->path.data[len] = '\0';
    return OCV_OK;
}

static int add_item(struct toml_scanner *s, struct toml_item item)
{
    struct toml *out = s->out;
    if (out->count == TOML_ITEMS_MAX)
        return toml_fail(s, "too many keys");
    struct toml_item *added = ocv_array_grow(&out->items, out->count);
    if (!added || !(item.path = strdup(s->path.data ? s->path.data : "")))
        return ocv_error_nomem(s->err);
    *added = item;
    out->count++;
    return OCV_OK;
}

static size_t line_start(const struct toml_scanner *s, size_t at)
{
    while (at > s->first && s->text[at - 1] != '\n')
        at--;
    return at;
}

/* KEY = VALUE at s->at. `keep`: store it as an item; keys in arrays are not stored, since they have
 * no path. */
static int read_pair(struct toml_scanner *s, bool keep, bool inside, unsigned depth)
{
    size_t above = s->path.len, index = s->out->count, key = s->at;
    OCV_TRY(read_key(s));
    if (toml_peek(s) != '=')
        return toml_fail(s, "'=' is missing behind a key");
    s->at++;
    toml_skip_blanks(s);
    if (keep)
        OCV_TRY(add_item(s, (struct toml_item){.kind = TOML_VALUE,
                                               .inside = inside,
                                               .line = line_start(s, key),
                                               .key = key,
                                               .start = s->at,
                                               .header = s->header}));
    OCV_TRY(read_value(s, keep, depth));
    if (keep)
        s->out->items[index].end = s->at;
    return set_path_len(s, above);
}

static int read_value(struct toml_scanner *s, bool keep, unsigned depth)
{
    int c = toml_peek(s);
    if (c == '"' || c == '\'')
        return toml_read_string(s, NULL);
    if (c != '[' && c != '{') {
        /* Numbers, booleans, dates; a date may contain one blank. */
        size_t start = s->at;
        while (bare_char(toml_peek(s)) || toml_peek(s) == '+' || toml_peek(s) == '.' ||
               toml_peek(s) == ':') {
            s->at++;
            if (s->at - start == 10 && s->text[start + 4] == '-' && s->at + 1 < s->len &&
                s->text[s->at] == ' ' && s->text[s->at + 1] >= '0' && s->text[s->at + 1] <= '9')
                s->at++;
        }
        return s->at > start ? OCV_OK : toml_fail(s, "a value is missing");
    }
    /* [a, b] or {k = v, ...} */
    s->at++;
    if (depth >= TOML_DEPTH_MAX)
        return toml_fail(s, "too many nested brackets");
    const char close = c == '[' ? ']' : '}';
    for (;;) {
        toml_skip_lines(s);
        if (toml_peek(s) == close)
            break;
        OCV_TRY(close == '}' ? read_pair(s, keep, true, depth + 1)
                             : read_value(s, false, depth + 1));
        toml_skip_lines(s);
        if (toml_peek(s) == ',')
            s->at++;
        else if (toml_peek(s) != close)
            return toml_fail(s, close == '}' ? "'}' is missing" : "']' is missing");
    }
    s->at++;
    return OCV_OK;
}

static int read_header(struct toml_scanner *s)
{
    struct toml_item item = {.header = TOML_NONE, .key = s->at, .start = s->at};
    item.kind = toml_looking_at(s, "[[") ? TOML_ARRAY_TABLE : TOML_TABLE;
    item.line = line_start(s, s->at);
    s->at += item.kind == TOML_ARRAY_TABLE ? 2 : 1;
    set_path_len(s, 0);
    OCV_TRY(read_key(s));
    if (!toml_looking_at(s, item.kind == TOML_ARRAY_TABLE ? "]]" : "]"))
        return toml_fail(s, "']' is missing");
    s->at += item.kind == TOML_ARRAY_TABLE ? 2 : 1;
    item.end = s->at;
    s->header = s->out->count;
    return add_item(s, item);
}

int toml_scan(const char *source, const char *text, size_t len, struct toml *out,
              struct ocv_error *err)
{
    struct toml_scanner s = {.source = source,
                             .text = text ? text : "",
                             .len = len,
                             .out = out,
                             .header = TOML_NONE,
                             .err = err};
    *out = (struct toml){.text = s.text, .len = len};
    if (len > TOML_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: larger than %u bytes", source, TOML_MAX);
    ocv_buffer_init(&s.path, TOML_KEY_MAX);
    int status = OCV_OK;
    if (toml_looking_at(&s, "\xef\xbb\xbf"))
        s.at = s.first = 3;
    while (status == OCV_OK) {
        toml_skip_lines(&s);
        if (s.at >= s.len)
            break;
        size_t first = out->count;
        status = toml_peek(&s) == '[' ? read_header(&s) : read_pair(&s, true, false, 0);
        if (status < 0)
            break;
        toml_skip_blanks(&s);
        toml_skip_comment(&s);
        if (s.at < s.len && !toml_skip_newline(&s))
            status = toml_fail(&s, "more on the line than one statement");
        for (size_t i = first; i < out->count; i++)
            out->items[i].line_end = s.at;
    }
    ocv_buffer_free(&s.path);
    if (status < 0)
        toml_free(out);
    return status;
}

void toml_free(struct toml *toml)
{
    for (size_t i = 0; i < toml->count; i++)
        free(toml->items[i].path);
    free(toml->items);
    *toml = (struct toml){0};
}

bool toml_path_under(const char *path, const char *top)
{
    size_t n = strlen(top);
    return n == 0 || (strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == *TOML_DOT));
}

const struct toml_item *toml_find(const struct toml *toml, const char *path)
{
    for (size_t i = 0; i < toml->count; i++)
        if (toml->items[i].kind == TOML_VALUE && strcmp(toml->items[i].path, path) == 0)
            return &toml->items[i];
    return NULL;
}

const struct toml_item *toml_find_under(const struct toml *toml, size_t header, const char *key)
{
    const char *path = toml->items[header].path;
    size_t n = strlen(path);
    for (size_t i = header + 1; i < toml->count && toml->items[i].kind == TOML_VALUE; i++)
        if (strncmp(toml->items[i].path, path, n) == 0 && toml->items[i].path[n] == *TOML_DOT &&
            strcmp(toml->items[i].path + n + 1, key) == 0)
            return &toml->items[i];
    return NULL;
}

size_t toml_block_end(const struct toml *toml, size_t header)
{
    size_t end = toml->items[header].line_end;
    for (size_t i = header + 1; i < toml->count && toml->items[i].kind == TOML_VALUE; i++)
        end = toml->items[i].line_end;
    return end;
}
