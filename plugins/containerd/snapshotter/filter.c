/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's filters:
 *
 *   filter    := selector ("," selector)*          all of them must match
 *   selector  := fieldpath [("==" | "!=" | "~=") value]
 *   fieldpath := field ("." field)*
 *   field     := quoted | [-_A-Za-z0-9]+
 *   value     := quoted | anything printable up to a comma or space
 *   quoted    := a Go string in ", for ~= also in / or |
 */
#include "snapshotter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELECTORS_MAX 256u /* of one filter */
#define TEXT_MAX 65536u    /* bytes of one filter */

enum op { OP_PRESENT, OP_EQUAL, OP_NOT_EQUAL, OP_MATCHES };

struct selector {
    char *field; /* "name", "labels" */
    char *rest;  /* the path behind it, joined by dots */
    enum op op;
    char *value;
    struct snap_regex *regex; /* NULL for one that cannot be compiled: matches nothing, as in Go */
};

struct alternative {
    struct selector *selectors;
    size_t n;
};

struct snap_filter {
    struct alternative *alternatives;
    size_t n;
};

struct parser {
    const char *text, *at;
    const char *wrong; /* what was expected */
};

/* ---- words -------------------------------------------------------------------------------------
 */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_field(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static bool is_value(char c)
{
    return c != ',' && !is_space(c) && ((unsigned char)c >= 0x80 || (c > ' ' && c < 0x7f));
}

static bool fail(struct parser *p, const char *wrong)
{
    p->wrong = wrong;
    return false;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
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
    int ignored = ocv_buffer_append(out, bytes, n, NULL); /* shorter than its escape: has room */
    (void)ignored;
}

/* Behind a backslash. */
static bool escape(struct parser *p, char quote, struct ocv_buffer *out)
{
    static const char letters[] = "abfnrtv\\", meaning[] = "\a\b\f\n\r\t\v\\";
    char c = *p->at++;
    const char *letter = c ? strchr(letters, c) : NULL;
    unsigned long value = 0;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : c >= '0' && c <= '7' ? 3 : 0;
    int base = digits == 3 ? 8 : 16;
    if (letter || c == quote)
        return ocv_buffer_append(out, letter ? &meaning[letter - letters] : &quote, 1, NULL) == 0 ||
               fail(p, "memory");
    if (digits == 0) {
        p->at--;
        return fail(p, "a known escape sequence");
    }
    if (base == 8)
        p->at--;
    for (; digits; digits--, p->at++) {
        if (hex(*p->at) >= base)
            return fail(p, "a numeric escape sequence");
        value = value * (unsigned)base + (unsigned)hex(*p->at);
    }
    if (value == 0 || (base == 8 && value > 255) || value > 0x10ffff)
        return fail(p, "a character that can stand in a text");
    if (c == 'u' || c == 'U') {
        put_rune(out, value);
        return true;
    }
    const char byte = (char)value;
    return ocv_buffer_append(out, &byte, 1, NULL) == 0 || fail(p, "memory");
}

static bool quoted(struct parser *p, struct ocv_buffer *out)
{
    char quote = *p->at++;
    while (*p->at != quote) {
        if (!*p->at || *p->at == '\n')
            return fail(p, "the end of a quoted text");
        if (*p->at == '\\') {
            p->at++;
            if (!escape(p, quote, out))
                return false;
        } else if (ocv_buffer_append(out, p->at++, 1, NULL) < 0) {
            return fail(p, "memory");
        }
    }
    p->at++;
    return true;
}

static bool word(struct parser *p, bool (*belongs)(char c), struct ocv_buffer *out)
{
    const char *start = p->at;
    while (*p->at && belongs(*p->at))
        p->at++;
    return ocv_buffer_append(out, start, (size_t)(p->at - start), NULL) == 0 || fail(p, "memory");
}

static void skip_space(struct parser *p)
{
    while (is_space(*p->at))
        p->at++;
}

/* ---- grammar -----------------------------------------------------------------------------------
 */

static bool field(struct parser *p, struct ocv_buffer *out)
{
    skip_space(p);
    if (*p->at == '"')
        return quoted(p, out);
    if (*p->at == '/' || *p->at == '|')
        return fail(p, "another quote");
    return is_field(*p->at) ? word(p, is_field, out) : fail(p, "field or quoted");
}

static bool value(struct parser *p, enum op op, struct ocv_buffer *out)
{
    skip_space(p);
    char c = *p->at;
    if (c == '"' || (op == OP_MATCHES && (c == '/' || c == '|')))
        return quoted(p, out);
    if (c == '/' || c == '|')
        return fail(p, "another quote");
    if (!c || strchr(",.=!~", c) || !is_value(c))
        return fail(p, "value or quoted");
    return word(p, is_value, out);
}

static bool operator_of(struct parser *p, enum op *op)
{
    char text[3] = "";
    skip_space(p);
    size_t n = strspn(p->at, "=!~");
    if (n == 2)
        memcpy(text, p->at, 2);
    *op = strcmp(text, "==") == 0   ? OP_EQUAL
          : strcmp(text, "!=") == 0 ? OP_NOT_EQUAL
          : strcmp(text, "~=") == 0 ? OP_MATCHES
                                    : OP_PRESENT;
    if (*op == OP_PRESENT)
        return fail(p, "an operator (\"==\"|\"!=\"|\"~=\")");
    p->at += 2;
    return true;
}

static char *take(struct ocv_buffer *buffer)
{
    char *text = buffer->data ? buffer->data : strdup("");
    buffer->data = NULL;
    ocv_buffer_free(buffer);
    return text;
}

static bool fieldpath(struct parser *p, struct selector *s, struct ocv_buffer *text)
{
    if (!field(p, text))
        return false;
    s->field = take(text);
    for (bool first = true; *p->at == '.'; first = false) {
        p->at++;
        if ((!first && ocv_buffer_append(text, ".", 1, NULL) < 0) || !field(p, text))
            return p->wrong ? false : fail(p, "memory");
    }
    s->rest = take(text);
    return (s->field && s->rest) || fail(p, "memory");
}

static bool selector(struct parser *p, struct selector *s)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX + 1);
    if (!fieldpath(p, s, &text))
        return false;
    if (*p->at == ',' || !*p->at)
        return true;
    if (!operator_of(p, &s->op) || !value(p, s->op, &text))
        return false;
    s->value = take(&text);
    if (s->value && s->op == OP_MATCHES)
        s->regex = snap_regex_new(s->value, NULL);
    return s->value || fail(p, "memory");
}

static bool alternative(struct parser *p, struct alternative *a)
{
    if (!*p->at) /* matches everything */
        return true;
    for (;;) {
        if (a->n == SELECTORS_MAX)
            return fail(p, "fewer selectors");
        struct selector *more = realloc(a->selectors, (a->n + 1) * sizeof(*more));
        if (!more)
            return fail(p, "memory");
        a->selectors = more;
        more[a->n] = (struct selector){.op = OP_PRESENT};
        if (!selector(p, &more[a->n++]))
            return false;
        if (!*p->at)
            return true;
        if (*p->at != ',')
            return fail(p, "a comma");
        p->at++;
    }
}

/* ---- public ------------------------------------------------------------------------------------
 */

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
        struct parser p = {.text = texts[filter->n], .at = texts[filter->n]};
        if (strlen(p.text) > TEXT_MAX)
            code = snap_fail(err, GRPC_INVALID_ARGUMENT, "filter longer than %u bytes", TEXT_MAX);
        else if (!alternative(&p, &filter->alternatives[filter->n]))
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
            snap_regex_free(a->selectors[j].regex);
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

static int matches(const struct selector *s, const struct snap_info *info)
{
    const char *found = look_up(s, info);
    const char *text = found ? found : "";
    switch (s->op) {
    case OP_PRESENT:
        return found != NULL;
    case OP_EQUAL:
        return found && strcmp(found, s->value) == 0;
    case OP_NOT_EQUAL:
        return strcmp(text, s->value) != 0;
    case OP_MATCHES:
        return s->regex ? snap_regex_search(s->regex, text) : 0;
    }
    return 0;
}

int snap_filter_match(const struct snap_filter *filter, const struct snap_info *info)
{
    int any = filter->n == 0;
    for (size_t i = 0; any == 0 && i < filter->n; i++) {
        const struct alternative *a = &filter->alternatives[i];
        any = 1;
        for (size_t j = 0; any == 1 && j < a->n; j++)
            any = matches(&a->selectors[j], info);
    }
    return any;
}
