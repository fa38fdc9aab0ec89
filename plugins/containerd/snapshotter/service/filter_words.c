/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words, blanks and quoted texts (with Go's syntax) in filters. */
#include "plugins/containerd/snapshotter/service/filter_words.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool filter_is_field(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool filter_is_value(char c)
{
    return c != ',' && !is_space(c) && ((unsigned char)c >= 0x80 || (c > ' ' && c < 0x7f));
}

bool filter_fail(struct filter_parser *p, const char *wrong)
{
    p->wrong = wrong;
    return false;
}

static int hex_value(char c)
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
        if (hex_value(*p->at) >= base)
            return filter_fail(p, "a numeric escape sequence");
        value = value * (unsigned)base + (unsigned)hex_value(*p->at);
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

bool filter_quoted(struct filter_parser *p, struct ocv_buffer *out)
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

bool filter_word(struct filter_parser *p, bool (*belongs)(char c), struct ocv_buffer *out)
{
    const char *start = p->at;
    while (*p->at && belongs(*p->at))
        p->at++;
    return ocv_buffer_append(out, start, (size_t)(p->at - start), NULL) == 0 ||
           filter_fail(p, "memory");
}

void filter_skip_space(struct filter_parser *p)
{
    while (is_space(*p->at))
        p->at++;
}
