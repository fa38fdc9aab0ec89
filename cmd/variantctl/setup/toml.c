/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading TOML 1.0 for its places. Strict about structure; a bare value is taken as it is. */
#include "toml.h"

#include <stdlib.h>
#include <string.h>

struct scan {
    const char *source, *text;
    size_t len, at, first; /* first: behind a byte order mark, which belongs to no line */
    struct toml *out;
    struct ocv_buffer path; /* of what is being read; its length is the place in the tree */
    size_t header;
    struct ocv_error *err;
};

static int read_value(struct scan *s, bool keep, unsigned depth);

static int fail(struct scan *s, const char *what)
{
    size_t line = 1, end = s->at < s->len ? s->at : s->len;
    for (size_t i = 0; i < end; i++)
        line += s->text[i] == '\n';
    return ocv_error_set(s->err, OCV_ERR_DATA, "%s:%zu: %s", s->source, line, what);
}

static int peek(const struct scan *s)
{
    return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static bool looking_at(const struct scan *s, const char *word)
{
    size_t n = strlen(word);
    return s->len - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

static void skip_blanks(struct scan *s)
{
    while (peek(s) == ' ' || peek(s) == '\t')
        s->at++;
}

static void skip_comment(struct scan *s)
{
    if (peek(s) == '#')
        while (s->at < s->len && s->text[s->at] != '\n')
            s->at++;
}

static bool skip_newline(struct scan *s)
{
    if (!looking_at(s, "\n") && !looking_at(s, "\r\n"))
        return false;
    s->at += s->text[s->at] == '\r' ? 2 : 1;
    return true;
}

/* Between the members of an array or inline table. */
static void skip_lines(struct scan *s)
{
    do {
        skip_blanks(s);
        skip_comment(s);
    } while (skip_newline(s));
}

/* ---- strings ----------------------------------------------------------------------------------
 */

static int hex_value(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int put(struct scan *s, struct ocv_buffer *out, const char *bytes, size_t len)
{
    return out ? ocv_buffer_append(out, bytes, len, s->err) : OCV_OK;
}

static int put_code_point(struct scan *s, struct ocv_buffer *out, unsigned long c)
{
    char b[4];
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return fail(s, "an escape that is no character");
    if (c < 0x80) {
        b[0] = (char)c;
        return put(s, out, b, 1);
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return put(s, out, b, n);
}

/* Behind the backslash. */
static int read_escape(struct scan *s, struct ocv_buffer *out, bool lines)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
    int c = peek(s);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (known) {
        s->at++;
        return put(s, out, &to[known - from], 1);
    }
    int digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' ? 2 : 0;
    if (digits) {
        unsigned long value = 0;
        s->at++;
        for (int i = 0; i < digits; i++, s->at++) {
            int digit = hex_value(peek(s));
            if (digit < 0)
                return fail(s, "a broken escape in a string");
            value = value << 4 | (unsigned long)digit;
        }
        return put_code_point(s, out, value);
    }
    if (lines) { /* the rest of the line must be blank: line ends and indentation go away */
        skip_blanks(s);
        if (skip_newline(s)) {
            do
                skip_blanks(s);
            while (skip_newline(s));
            return OCV_OK;
        }
    }
    return fail(s, "an unknown escape in a string");
}

/* "...", '...' and their forms over several lines. */
static int read_string(struct scan *s, struct ocv_buffer *out)
{
    const char quote = s->text[s->at];
    const char triple[4] = {quote, quote, quote, '\0'};
    bool lines = looking_at(s, triple);
    s->at += lines ? 3 : 1;
    if (lines)
        skip_newline(s);
    while (s->at < s->len) {
        char c = s->text[s->at];
        int status = OCV_OK;
        if (c == quote && (!lines || looking_at(s, triple))) {
            s->at += lines ? 3 : 1;
            /* up to two quotes may stand before the closing three */
            for (int i = 0; lines && i < 2 && peek(s) == quote && status == OCV_OK; i++, s->at++)
                status = put(s, out, &quote, 1);
            return status;
        }
        if (c == '\n' && !lines)
            return fail(s, "a string that does not end on its line");
        s->at++;
        if (c == '\\' && quote == '"')
            status = read_escape(s, out, lines);
        else if (c == '\0')
            status = fail(s, "a NUL byte");
        else
            status = put(s, out, &c, 1);
        if (status < 0)
            return status;
    }
    return fail(s, "a string that does not end");
}

/* ---- keys -------------------------------------------------------------------------------------
 */

static bool bare_char(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* a."b".c, appended to the path. */
static int read_key(struct scan *s)
{
    for (;;) {
        skip_blanks(s);
        int status = s->path.len ? ocv_buffer_append(&s->path, TOML_DOT, 1, s->err) : OCV_OK;
        size_t before = s->path.len, start = s->at;
        if (status < 0)
            return fail(s, "a key that is too long");
        if (peek(s) == '"' || peek(s) == '\'') {
            char three[4] = {s->text[s->at], s->text[s->at], s->text[s->at], '\0'};
            if (looking_at(s, three))
                return fail(s, "a key over several lines");
            status = read_string(s, &s->path);
        } else {
            while (bare_char(peek(s)))
                s->at++;
            if (s->at == start)
                return fail(s, "a key is missing");
            status = ocv_buffer_append(&s->path, s->text + start, s->at - start, s->err);
        }
        if (status < 0)
            return status;
        if (s->path.len > before && memchr(s->path.data + before, *TOML_DOT, s->path.len - before))
            return fail(s, "a control character in a key");
        skip_blanks(s);
        if (peek(s) != '.')
            return OCV_OK;
        s->at++;
    }
}

static int set_path_len(struct scan *s, size_t len)
{
    s->path.len = len;
    if (s->path.data)
        s->path.data[len] = '\0';
    return OCV_OK;
}

/* ---- items ------------------------------------------------------------------------------------
 */

/* Items grow by doubling; the count says when. */
static int add_item(struct scan *s, struct toml_item item)
{
    struct toml *out = s->out;
    if (out->count == TOML_ITEMS_MAX)
        return fail(s, "too many keys");
    if ((out->count & (out->count - 1)) == 0) {
        size_t cap = out->count ? out->count * 2 : 1;
        struct toml_item *grown = realloc(out->items, cap * sizeof(*grown));
        if (!grown)
            return ocv_error_nomem(s->err);
        out->items = grown;
    }
    item.path = strdup(s->path.data ? s->path.data : "");
    if (!item.path)
        return ocv_error_nomem(s->err);
    out->items[out->count++] = item;
    return OCV_OK;
}

static size_t line_start(const struct scan *s, size_t at)
{
    while (at > s->first && s->text[at - 1] != '\n')
        at--;
    return at;
}

/* KEY = VALUE at s->at; `keep`: as an item (not so inside arrays, which have no paths). */
static int read_pair(struct scan *s, bool keep, bool inside, unsigned depth)
{
    size_t above = s->path.len, index = s->out->count, key = s->at;
    int status = read_key(s);
    if (status < 0)
        return status;
    if (peek(s) != '=')
        return fail(s, "'=' is missing behind a key");
    s->at++;
    skip_blanks(s);
    if (keep)
        status = add_item(s, (struct toml_item){.kind = TOML_VALUE,
                                                .inside = inside,
                                                .line = line_start(s, key),
                                                .key = key,
                                                .start = s->at,
                                                .header = s->header});
    if (status == OCV_OK)
        status = read_value(s, keep, depth);
    if (status < 0)
        return status;
    if (keep)
        s->out->items[index].end = s->at;
    return set_path_len(s, above);
}

/* [a, b] or {k = v, ...}: s->at behind the opening bracket. */
static int read_members(struct scan *s, char close, bool keep, unsigned depth)
{
    if (depth >= TOML_DEPTH_MAX)
        return fail(s, "too many brackets in one another");
    for (;;) {
        skip_lines(s);
        if (peek(s) == close)
            break;
        int status =
            close == '}' ? read_pair(s, keep, true, depth + 1) : read_value(s, false, depth + 1);
        if (status < 0)
            return status;
        skip_lines(s);
        if (peek(s) == ',')
            s->at++;
        else if (peek(s) != close)
            return fail(s, close == '}' ? "'}' is missing" : "']' is missing");
    }
    s->at++;
    return OCV_OK;
}

/* Numbers, booleans, dates; a date may have one blank inside. */
static int read_bare(struct scan *s)
{
    size_t start = s->at;
    while (bare_char(peek(s)) || peek(s) == '+' || peek(s) == '.' || peek(s) == ':') {
        s->at++;
        if (s->at - start == 10 && s->text[start + 4] == '-' && s->at + 1 < s->len &&
            s->text[s->at] == ' ' && s->text[s->at + 1] >= '0' && s->text[s->at + 1] <= '9')
            s->at++;
    }
    return s->at > start ? OCV_OK : fail(s, "a value is missing");
}

static int read_value(struct scan *s, bool keep, unsigned depth)
{
    int c = peek(s);
    if (c == '"' || c == '\'')
        return read_string(s, NULL);
    if (c != '[' && c != '{')
        return read_bare(s);
    s->at++;
    return read_members(s, c == '[' ? ']' : '}', keep, depth);
}

static int read_header(struct scan *s)
{
    struct toml_item item = {.header = TOML_NONE, .key = s->at, .start = s->at};
    item.kind = looking_at(s, "[[") ? TOML_ARRAY_TABLE : TOML_TABLE;
    item.line = line_start(s, s->at);
    s->at += item.kind == TOML_ARRAY_TABLE ? 2 : 1;
    set_path_len(s, 0);
    int status = read_key(s);
    if (status < 0)
        return status;
    if (!looking_at(s, item.kind == TOML_ARRAY_TABLE ? "]]" : "]"))
        return fail(s, "']' is missing");
    s->at += item.kind == TOML_ARRAY_TABLE ? 2 : 1;
    item.end = s->at;
    s->header = s->out->count;
    return add_item(s, item);
}

static int read_statement(struct scan *s)
{
    size_t first = s->out->count;
    int status = peek(s) == '[' ? read_header(s) : read_pair(s, true, false, 0);
    if (status < 0)
        return status;
    skip_blanks(s);
    skip_comment(s);
    if (s->at < s->len && !skip_newline(s))
        return fail(s, "more on the line than one statement");
    for (size_t i = first; i < s->out->count; i++)
        s->out->items[i].line_end = s->at;
    return OCV_OK;
}

int toml_scan(const char *source, const char *text, size_t len, struct toml *out,
              struct ocv_error *err)
{
    struct scan s = {.source = source,
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
    if (looking_at(&s, "\xef\xbb\xbf"))
        s.at = s.first = 3;
    while (status == OCV_OK) {
        skip_lines(&s);
        if (s.at >= s.len)
            break;
        status = read_statement(&s);
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

/* ---- looking things up ------------------------------------------------------------------------
 */

char *toml_next_string(const struct toml *toml, const struct toml_item *item, size_t *at,
                       size_t *start, size_t *end)
{
    struct scan s = {.source = "", .text = toml->text, .len = item->end, .at = item->start + *at};
    if (*at == 0 && peek(&s) == '[')
        s.at++;
    if (toml->text[item->start] == '[') {
        skip_lines(&s);
        if (*at > 0 && peek(&s) == ',') {
            s.at++;
            skip_lines(&s);
        }
    }
    if (s.at >= item->end || (peek(&s) != '"' && peek(&s) != '\''))
        return NULL;
    struct ocv_buffer out;
    ocv_buffer_init(&out, TOML_MAX);
    size_t from = s.at;
    if (ocv_buffer_append(&out, "", 0, NULL) < 0 || read_string(&s, &out) < 0) {
        ocv_buffer_free(&out);
        return NULL;
    }
    if (start)
        *start = from;
    if (end)
        *end = s.at;
    *at = s.at - item->start;
    return out.data ? out.data : strdup("");
}

bool toml_is_strings(const struct toml *toml, const struct toml_item *item)
{
    struct scan s = {.source = "", .text = toml->text, .len = item->end};
    size_t at = 0, end = item->start + 1;
    char *one;
    if (toml->text[item->start] != '[')
        return false;
    while ((one = toml_next_string(toml, item, &at, NULL, &end)) != NULL)
        free(one);
    s.at = end;
    skip_lines(&s);
    if (peek(&s) == ',') {
        s.at++;
        skip_lines(&s);
    }
    return s.at + 1 == item->end;
}

char *toml_string(const struct toml *toml, const struct toml_item *item)
{
    size_t at = 0;
    if (!item || toml->text[item->start] == '[')
        return NULL;
    return toml_next_string(toml, item, &at, NULL, NULL);
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
