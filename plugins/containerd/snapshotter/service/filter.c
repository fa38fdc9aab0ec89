/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's filters:
 *
 *   filter    := selector ("," selector)*          all of them must match
 *   selector  := fieldpath [("==" | "!=") value]
 *   fieldpath := field ("." field)*
 *   field     := quoted | [_A-Za-z0-9]+
 *   value     := quoted | anything printable up to a comma or space
 *   quoted    := a Go string in "
 *
 * containerd's third operator, ~= with a regular expression, is refused: containerd itself
 * evaluates what its clients filter by, and asks a snapshotter for labels and parents by == only.
 */
#include "lib/base/arena.h"
#include "lib/base/text.h"
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <stdlib.h>
#include <string.h>

#define SELECTORS_MAX 256u /* in one filter */
#define TEXT_MAX 65536u    /* bytes in one filter */

enum op { OP_PRESENT, OP_EQUAL, OP_NOT_EQUAL };

struct selector {
    char *field; /* "name", "labels" */
    char *rest;  /* the path after it, joined by dots */
    enum op op;
    char *value;
};

struct alternative {
    struct selector *selectors;
    size_t n;
};

struct snap_filter {
    struct alternative *alternatives;
    size_t n;
};

/* Words, blanks and quoted texts (with Go's syntax) in filters. */

struct filter_parser {
    const char *text, *at;
    const char *wrong; /* what was expected */
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool filter_is_field(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool filter_is_value(char c)
{
    return c != ',' && !is_space(c) && ((unsigned char)c >= 0x80 || (c > ' ' && c < 0x7f));
}

/* Returns false and records what was expected. */
static bool filter_fail(struct filter_parser *p, const char *wrong)
{
    p->wrong = wrong;
    return false;
}

static void put_rune(struct ocv_buffer *out, unsigned long rune)
{
    char bytes[4];
    size_t n = 0;
    if (rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        rune = 0xfffd;
    if (rune < 0x80) {
        bytes[n++] = (char)rune;
    } else if (rune < 0x800) {
        bytes[n++] = (char)(0xc0 | rune >> 6);
    } else if (rune < 0x10000) {
        bytes[n++] = (char)(0xe0 | rune >> 12);
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | rune >> 18);
        bytes[n++] = (char)(0x80 | (rune >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
    }
    if (rune >= 0x80)
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    int ignored = ocv_buffer_append(out, bytes, n, NULL); /* fits: shorter than its escape */
    (void)ignored;
}

/* Read an escape after its backslash. */
static bool read_escape(struct filter_parser *p, struct ocv_buffer *out)
{
    static const char letters[] = "abfnrtv\\\"", meaning[] = "\a\b\f\n\r\t\v\\\"";
    char c = *p->at++;
    const char *letter = c ? strchr(letters, c) : NULL;
    unsigned long value = 0;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : c >= '0' && c <= '7' ? 3 : 0;
    int base = digits == 3 ? 8 : 16;
    if (letter)
        return ocv_buffer_append(out, &meaning[letter - letters], 1, NULL) == 0 ||
               filter_fail(p, "memory");
    if (digits == 0) {
        p->at--;
        return filter_fail(p, "a known escape sequence");
    }
    if (base == 8)
        p->at--;
    for (; digits; digits--, p->at++) {
        int digit = ocv_text_hex(*p->at);
        if (digit < 0 || digit >= base)
            return filter_fail(p, "a numeric escape sequence");
        value = value * (unsigned)base + (unsigned)digit;
    }
    if (value == 0 || (base == 8 && value > 255) || value > 0x10ffff)
        return filter_fail(p, "a character that can stand in a text");
    if (c == 'u' || c == 'U') {
        put_rune(out, value);
        return true;
    }
    const char byte = (char)value;
    return ocv_buffer_append(out, &byte, 1, NULL) == 0 || filter_fail(p, "memory");
}

/* A text in double quotes, with Go's escapes. */
static bool filter_quoted(struct filter_parser *p, struct ocv_buffer *out)
{
    for (p->at++; *p->at != '"';) {
        if (!*p->at || *p->at == '\n')
            return filter_fail(p, "the end of a quoted text");
        if (*p->at == '\\') {
            p->at++;
            if (!read_escape(p, out))
                return false;
        } else if (ocv_buffer_append(out, p->at++, 1, NULL) < 0) {
            return filter_fail(p, "memory");
        }
    }
    p->at++;
    return true;
}

/* Read as long as `belongs` accepts the characters. */
static bool filter_word(struct filter_parser *p, bool (*belongs)(char c), struct ocv_buffer *out)
{
    const char *start = p->at;
    while (*p->at && belongs(*p->at))
        p->at++;
    return ocv_buffer_append(out, start, (size_t)(p->at - start), NULL) == 0 ||
           filter_fail(p, "memory");
}

static void filter_skip_space(struct filter_parser *p)
{
    while (is_space(*p->at))
        p->at++;
}

static bool read_field(struct filter_parser *p, struct ocv_buffer *out)
{
    filter_skip_space(p);
    if (*p->at == '"')
        return filter_quoted(p, out);
    return filter_is_field(*p->at) ? filter_word(p, filter_is_field, out)
                                   : filter_fail(p, "field or quoted");
}

static char *take_text(struct ocv_buffer *buffer)
{
    char *text = buffer->data ? buffer->data : strdup("");
    buffer->data = NULL;
    ocv_buffer_free(buffer);
    return text;
}

static bool read_selector(struct filter_parser *p, struct selector *s)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX + 1);
    if (!read_field(p, &text))
        return false;
    s->field = take_text(&text);
    for (bool first = true; *p->at == '.'; first = false) {
        p->at++;
        if ((!first && ocv_buffer_append(&text, ".", 1, NULL) < 0) || !read_field(p, &text))
            return p->wrong ? false : filter_fail(p, "memory");
    }
    s->rest = take_text(&text);
    if (!s->field || !s->rest)
        return filter_fail(p, "memory");
    if (*p->at == ',' || !*p->at)
        return true;
    filter_skip_space(p);
    size_t n = strspn(p->at, "=!~");
    if (n == 2 && memcmp(p->at, "~=", 2) == 0)
        return filter_fail(p, "== or !=; regular expressions (~=) are not supported");
    if (n != 2 || (memcmp(p->at, "==", 2) != 0 && memcmp(p->at, "!=", 2) != 0))
        return filter_fail(p, "an operator (\"==\"|\"!=\")");
    s->op = *p->at == '=' ? OP_EQUAL : OP_NOT_EQUAL;
    p->at += 2;
    filter_skip_space(p);
    if (*p->at == '"') {
        if (!filter_quoted(p, &text))
            return false;
    } else if (!*p->at || strchr(",.=!~/|", *p->at) || !filter_is_value(*p->at)) {
        return filter_fail(p, "value or quoted");
    } else if (!filter_word(p, filter_is_value, &text)) {
        return false;
    }
    s->value = take_text(&text);
    return s->value || filter_fail(p, "memory");
}

static bool read_alternative(struct filter_parser *p, struct alternative *a)
{
    if (!*p->at) /* matches everything */
        return true;
    for (;;) {
        if (a->n == SELECTORS_MAX)
            return filter_fail(p, "fewer selectors");
        struct selector *added = ocv_array_grow(&a->selectors, a->n);
        if (!added)
            return filter_fail(p, "memory");
        a->n++;
        added->op = OP_PRESENT;
        if (!read_selector(p, added))
            return false;
        if (!*p->at)
            return true;
        if (*p->at != ',')
            return filter_fail(p, "a comma");
        p->at++;
    }
}

enum grpc_code snap_filter_new(char *const *texts, size_t n, struct snap_filter **out,
                               struct ocv_error *err)
{
    *out = NULL;
    if (n > SNAP_FILTERS_MAX)
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "more than %u filters", SNAP_FILTERS_MAX);
    struct snap_filter *filter = calloc(1, sizeof(*filter));
    if (filter && n)
        filter->alternatives = calloc(n, sizeof(*filter->alternatives));
    if (!filter || (n && !filter->alternatives)) {
        free(filter);
        return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
    enum grpc_code code = GRPC_OK;
    for (; code == GRPC_OK && filter->n < n; filter->n++) {
        struct filter_parser p = {.text = texts[filter->n], .at = texts[filter->n]};
        if (strlen(p.text) > TEXT_MAX)
            code = snap_fail(err, GRPC_INVALID_ARGUMENT, "filter longer than %u bytes", TEXT_MAX);
        else if (!read_alternative(&p, &filter->alternatives[filter->n]))
            code = snap_fail(err, GRPC_INVALID_ARGUMENT,
                             "filters: parse error: [%.*s >|%.1s|< %.100s]: expected %s",
                             (int)(p.at - p.text > 100 ? 100 : p.at - p.text), p.text, p.at,
                             *p.at ? p.at + 1 : "", p.wrong);
    }
    if (code == GRPC_OK)
        *out = filter;
    else
        snap_filter_free(filter);
    return code;
}

void snap_filter_free(struct snap_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->n; i++) {
        struct alternative *a = &filter->alternatives[i];
        for (size_t j = 0; j < a->n; j++) {
            free(a->selectors[j].field);
            free(a->selectors[j].rest);
            free(a->selectors[j].value);
        }
        free(a->selectors);
    }
    free(filter->alternatives);
    free(filter);
}

/* NULL: not present. */
static const char *look_up(const struct selector *s, const struct snap_info *info)
{
    if (strcmp(s->field, "name") == 0)
        return info->name;
    if (strcmp(s->field, "parent") == 0)
        return info->parent;
    if (strcmp(s->field, "kind") == 0)
        return info->kind == SNAP_ACTIVE ? "active"
               : info->kind == SNAP_VIEW ? "view"
                                         : "committed";
    return strcmp(s->field, "labels") == 0 ? snap_labels_get(&info->labels, s->rest) : NULL;
}

bool snap_filter_match(const struct snap_filter *filter, const struct snap_info *info)
{
    for (size_t i = 0; i < filter->n; i++) {
        const struct alternative *a = &filter->alternatives[i];
        bool all = true;
        for (size_t k = 0; k < a->n && all; k++) {
            const struct selector *s = &a->selectors[k];
            const char *found = look_up(s, info);
            if (s->op == OP_NOT_EQUAL)
                all = strcmp(found ? found : "", s->value) != 0;
            else
                all = found && (s->op == OP_PRESENT || strcmp(found, s->value) == 0);
        }
        if (all)
            return true;
    }
    return filter->n == 0;
}
