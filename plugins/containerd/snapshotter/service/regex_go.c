/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's expressions (RE2's syntax) are nearly a part of PCRE2's. What PCRE2 would read otherwise is
 * written in its words (\s, \v, octal numbers, scripts, classes), and what Go does not know is
 * refused: looking around, backward references, verbs, possessive and doubled repeats. Refused too,
 * although Go has them: \S inside a class, a repeated assertion. */
#include "plugins/containerd/snapshotter/service/regex.h"

#include <stdint.h>
#include <string.h>

#define RUNE_MAX 0x10ffffu
#define REPEAT_MAX 1000u /* Go's */

struct reader {
    const char *at;
    struct ocv_buffer *out;
    const char *wrong;
    bool repeated; /* what stands before is a repeat */
};

static bool fail(struct reader *r, const char *wrong)
{
    r->wrong = wrong;
    return false;
}

static bool put(struct reader *r, const char *text, size_t len)
{
    return ocv_buffer_append(r->out, text, len, NULL) == 0 || fail(r, "expression too large");
}

static bool put_text(struct reader *r, const char *text)
{
    return put(r, text, strlen(text));
}

static bool put_rune(struct reader *r, uint32_t rune)
{
    return ocv_buffer_printf(r->out, NULL, "\\x{%x}", rune) >= 0 || fail(r, "expression too large");
}

/* ---- escapes -----------------------------------------------------------------------------------
 */

static int digit(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : base;
    return value < base ? value : -1;
}

/* Up to `most` digits; how many there were. */
static size_t number(struct reader *r, int base, size_t most, uint32_t *out)
{
    size_t n = 0;
    for (*out = 0; n < most && digit(*r->at, base) >= 0; n++)
        *out = *out * (uint32_t)base + (uint32_t)digit(*r->at++, base);
    return n;
}

/* Behind "\x": two digits, or any number of them in braces. */
static bool hexadecimal(struct reader *r, uint32_t *rune)
{
    if (*r->at != '{')
        return number(r, 16, 2, rune) == 2 || fail(r, "bad escape");
    r->at++;
    if (number(r, 16, 7, rune) == 0 || *r->at != '}' || *rune > RUNE_MAX)
        return fail(r, "bad escape");
    r->at++;
    return true;
}

/* One character behind a backslash. */
static bool escaped_rune(struct reader *r, uint32_t *rune)
{
    static const char letters[] = "afnrtv", meaning[] = "\a\f\n\r\t\v";
    char c = *r->at++;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == 'x')
        return hexadecimal(r, rune);
    if (c == '0' || (c >= '1' && c <= '7' && digit(*r->at, 8) >= 0)) {
        r->at--;
        return number(r, 8, 3, rune) > 0;
    }
    *rune = letter ? (uint32_t)meaning[letter - letters] : (unsigned char)c;
    bool alone = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return letter || (c > 0 && !alone) || fail(r, "bad escape");
}

/* "\pL", "\p{Lu}", "\P{Greek}", "\p{^Greek}": PCRE2 takes a script's plain name for more than Go.
 */
static bool property(struct reader *r)
{
    char head[3] = {'\\', r->at[0], '{'};
    const char *name = r->at + 1;
    size_t len = 1;
    bool braces = *name == '{', negated = false;
    if (braces) {
        negated = *++name == '^';
        name += negated;
        len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
    }
    if (!*name || len == 0 || (braces && name[len] != '}'))
        return fail(r, "bad property");
    r->at = name + len + braces;
    bool script = len > 2 && strncmp(name, "Any", len) != 0;
    return put(r, head, 3) && (!negated || put_text(r, "^")) && (!script || put_text(r, "sc:")) &&
           put(r, name, len) && put_text(r, "}");
}

static bool quoted(struct reader *r)
{
    const char *start = r->at - 1, *end = strstr(start, "\\E");
    r->at = end ? end + 2 : start + strlen(start);
    return put(r, start, (size_t)(r->at - start));
}

static bool escape(struct reader *r)
{
    uint32_t rune;
    char c = *++r->at;
    if (c && strchr("AzbBdDwW", c))
        return put(r, r->at++ - 1, 2);
    switch (c) {
    case 's':
        r->at++;
        return put_text(r, "[\\t\\n\\f\\r ]");
    case 'S':
        r->at++;
        return put_text(r, "[^\\t\\n\\f\\r ]");
    case 'p':
    case 'P':
        return property(r);
    case 'Q':
        return quoted(r);
    default:
        return escaped_rune(r, &rune) && put_rune(r, rune);
    }
}

/* ---- classes -----------------------------------------------------------------------------------
 */

static bool class_rune(struct reader *r, uint32_t *rune)
{
    const unsigned char *p = (const unsigned char *)r->at;
    if (*p == '\\') {
        r->at++;
        return escaped_rune(r, rune);
    }
    size_t more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    if (!*p || (*p >= 0x80 && more == 0))
        return fail(r, *p ? "not UTF-8" : "missing ]");
    *rune = more ? *p & (0x3fu >> more) : *p;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return fail(r, "not UTF-8");
        *rune = *rune << 6 | (p[i] & 0x3fu);
    }
    r->at += 1 + more;
    return true;
}

/* "a", "a-z", "\n-\x20" */
static bool class_range(struct reader *r)
{
    uint32_t low, high;
    if (!class_rune(r, &low) || !put_rune(r, low))
        return false;
    if (r->at[0] != '-' || r->at[1] == ']' || !r->at[1])
        return true;
    r->at++;
    if (!class_rune(r, &high))
        return false;
    return high < low ? fail(r, "bad range") : put_text(r, "-") && put_rune(r, high);
}

/* The whole of what stands for more than a range; false without `wrong`: it is a range. */
static bool class_named(struct reader *r)
{
    const char *end = strncmp(r->at, "[:", 2) == 0 ? strstr(r->at, ":]") : NULL;
    char c = r->at[0] == '\\' ? r->at[1] : '\0';
    if (end) { /* PCRE2 knows Go's names, and refuses others as Go does */
        const char *start = r->at;
        r->at = end + 2;
        return put(r, start, (size_t)(r->at - start));
    }
    if (c == 'S')
        return fail(r, "\\S in a class");
    if (c == 'p' || c == 'P') {
        r->at++;
        return property(r);
    }
    if (!c || !strchr("dDwWs", c))
        return false;
    r->at += 2;
    return c == 's' ? put_text(r, "\\t\\n\\f\\r ") : put(r, r->at - 2, 2);
}

static bool class(struct reader *r)
{
    bool negated = *++r->at == '^';
    r->at += negated;
    if (!put_text(r, negated ? "[^" : "["))
        return false;
    for (bool first = true; first || *r->at != ']'; first = false) {
        if (!*r->at)
            return fail(r, "missing ]");
        if (!class_named(r) && (r->wrong || !class_range(r)))
            return false;
    }
    r->at++;
    return put_text(r, "]");
}

/* ---- groups and repeats ------------------------------------------------------------------------
 */

/* "(?i)", "(?i-s:": the flags that Go knows. */
static bool flags(struct reader *r)
{
    const char *start = r->at, *p = start + 2;
    p += strspn(p, "imsU");
    if (*p == '-') {
        size_t off = strspn(p + 1, "imsU");
        p += off ? off + 1 : 0;
    }
    if (*p != ':' && *p != ')')
        return fail(r, "bad group");
    r->at = p + 1;
    return put(r, start, (size_t)(r->at - start));
}

/* "(", "(?<name>", "(?P<name>" */
static bool group(struct reader *r)
{
    const char *name = r->at + 2;
    if (r->at[1] == '*')
        return fail(r, "nothing to repeat");
    if (r->at[1] != '?')
        return put(r, r->at++, 1);
    name += *name == 'P';
    if (*name != '<')
        return flags(r);
    size_t len = strspn(++name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (len == 0 || name[len] != '>')
        return fail(r, "bad group");
    r->at = name + len + 1;
    return put_text(r, "(?<") && put(r, name, len + 1);
}

/* "{2}", "{2,}", "{2,5}": 1; any other brace is a character: 0; -1: wrong. */
static int counted(struct reader *r)
{
    struct reader look = {.at = r->at + 1};
    uint32_t min = 0, max = 0;
    if (number(&look, 10, 5, &min) == 0)
        return 0;
    max = min;
    if (*look.at == ',') {
        look.at++;
        if (number(&look, 10, 5, &max) == 0)
            max = min;
    }
    if (*look.at != '}')
        return 0;
    if (min > REPEAT_MAX || max > REPEAT_MAX || max < min) {
        r->wrong = "bad repeat count";
        return -1;
    }
    bool written = put(r, r->at, (size_t)(look.at + 1 - r->at));
    r->at = look.at + 1;
    return written ? 1 : -1;
}

static bool repeat(struct reader *r, bool again)
{
    if (*r->at == '{') {
        int kind = counted(r);
        if (kind < 0)
            return false;
        if (kind == 0)
            return put(r, "\\{", 2) && ++r->at;
    } else if (!put(r, r->at++, 1)) {
        return false;
    }
    if (again)
        return fail(r, "a repeat of a repeat");
    r->repeated = true;
    return *r->at != '?' || put(r, r->at++, 1); /* lazy */
}

static bool piece(struct reader *r)
{
    bool again = r->repeated;
    r->repeated = false;
    switch (*r->at) {
    case '\\':
        return escape(r);
    case '[':
        return class(r);
    case '(':
        return group(r);
    case '*':
    case '+':
    case '?':
    case '{':
        return repeat(r, again);
    default:
        return put(r, r->at++, 1);
    }
}

bool regex_from_go(const char *text, struct ocv_buffer *out, const char **wrong)
{
    struct reader r = {.at = text, .out = out};
    bool good = true;
    while (good && *r.at)
        good = piece(&r);
    *wrong = r.wrong;
    return good;
}
