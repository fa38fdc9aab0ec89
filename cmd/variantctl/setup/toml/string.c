/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TOML strings: parsed, decoded, and listed from arrays. */
#include "cmd/variantctl/setup/toml/toml.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

int toml_fail(struct toml_scanner *s, const char *what)
{
    size_t line = 1, end = s->at < s->len ? s->at : s->len;
    for (size_t i = 0; i < end; i++)
        line += s->text[i] == '\n';
    return ocv_error_set(s->err, OCV_ERR_DATA, "%s:%zu: %s", s->source, line, what);
}

int toml_peek(const struct toml_scanner *s)
{
    return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

bool toml_looking_at(const struct toml_scanner *s, const char *word)
{
    size_t n = strlen(word);
    return s->len - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

void toml_skip_blanks(struct toml_scanner *s)
{
    while (toml_peek(s) == ' ' || toml_peek(s) == '\t')
        s->at++;
}

void toml_skip_comment(struct toml_scanner *s)
{
    if (toml_peek(s) == '#')
        while (s->at < s->len && s->text[s->at] != '\n')
            s->at++;
}

bool toml_skip_newline(struct toml_scanner *s)
{
    if (!toml_looking_at(s, "\n") && !toml_looking_at(s, "\r\n"))
        return false;
    s->at += s->text[s->at] == '\r' ? 2 : 1;
    return true;
}

/* Skips what may be between the members of an array or inline table. */
void toml_skip_lines(struct toml_scanner *s)
{
    do {
        toml_skip_blanks(s);
        toml_skip_comment(s);
    } while (toml_skip_newline(s));
}

static int put_bytes(struct toml_scanner *s, struct ocv_buffer *out, const char *bytes, size_t len)
{
    return out ? ocv_buffer_append(out, bytes, len, s->err) : OCV_OK;
}

/* Decode the escape after a backslash. */
static int read_escape(struct toml_scanner *s, struct ocv_buffer *out, bool lines)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
    int c = toml_peek(s);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (known) {
        s->at++;
        return put_bytes(s, out, &to[known - from], 1);
    }
    int digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' ? 2 : 0;
    if (digits) {
        unsigned long value = 0;
        s->at++;
        for (int i = 0; i < digits; i++, s->at++) {
            int digit = ocv_text_hex(toml_peek(s));
            if (digit < 0)
                return toml_fail(s, "a broken escape in a string");
            value = value << 4 | (unsigned long)digit;
        }
        if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
            return toml_fail(s, "invalid escape");
        char utf8[4];
        size_t n = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
        for (size_t i = n - 1; i > 0; i--, value >>= 6)
            utf8[i] = (char)(0x80 | (value & 0x3f));
        utf8[0] = (char)((n == 1 ? 0 : n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | value);
        return put_bytes(s, out, utf8, n);
    }
    if (lines) { /* the rest of the line must be blank; line ends and indentation are removed */
        toml_skip_blanks(s);
        if (toml_skip_newline(s)) {
            do
                toml_skip_blanks(s);
            while (toml_skip_newline(s));
            return OCV_OK;
        }
    }
    return toml_fail(s, "an unknown escape in a string");
}

/* "...", '...' and their multi-line forms. */
int toml_read_string(struct toml_scanner *s, struct ocv_buffer *out)
{
    const char quote = s->text[s->at];
    const char triple[4] = {quote, quote, quote, '\0'};
    bool lines = toml_looking_at(s, triple);
    s->at += lines ? 3 : 1;
    if (lines)
        toml_skip_newline(s);
    while (s->at < s->len) {
        char c = s->text[s->at];
        int status = OCV_OK;
        if (c == quote && (!lines || toml_looking_at(s, triple))) {
            s->at += lines ? 3 : 1;
            /* up to two quotes may come before the closing three */
            for (int i = 0; lines && i < 2 && toml_peek(s) == quote && status == OCV_OK;
                 i++, s->at++)
                status = put_bytes(s, out, &quote, 1);
            return status;
        }
        if (c == '\n' && !lines)
            return toml_fail(s, "a string that does not end on its line");
        s->at++;
        if (c == '\\' && quote == '"')
            status = read_escape(s, out, lines);
        else if (c == '\0')
            status = toml_fail(s, "a NUL byte");
        else
            status = put_bytes(s, out, &c, 1);
        if (status < 0)
            return status;
    }
    return toml_fail(s, "a string that does not end");
}

char *toml_next_string(const struct toml *toml, const struct toml_item *item, size_t *at,
                       size_t *start, size_t *end)
{
    struct toml_scanner s = {
        .source = "", .text = toml->text, .len = item->end, .at = item->start + *at};
    if (*at == 0 && toml_peek(&s) == '[')
        s.at++;
    if (toml->text[item->start] == '[') {
        toml_skip_lines(&s);
        if (*at > 0 && toml_peek(&s) == ',') {
            s.at++;
            toml_skip_lines(&s);
        }
    }
    if (s.at >= item->end || (toml_peek(&s) != '"' && toml_peek(&s) != '\''))
        return NULL;
    struct ocv_buffer out;
    ocv_buffer_init(&out, TOML_MAX);
    size_t from = s.at;
    if (ocv_buffer_append(&out, "", 0, NULL) < 0 || toml_read_string(&s, &out) < 0) {
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
    struct toml_scanner s = {.source = "", .text = toml->text, .len = item->end};
    size_t at = 0, end = item->start + 1;
    char *one;
    if (toml->text[item->start] != '[')
        return false;
    while ((one = toml_next_string(toml, item, &at, NULL, &end)) != NULL)
        free(one);
    s.at = end;
    toml_skip_lines(&s);
    if (toml_peek(&s) == ',') {
        s.at++;
        toml_skip_lines(&s);
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
