/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's regular expressions (RE2) to a tree. Not here: Unicode classes (\p) and case folding outside
 * ASCII. */
#include "regex.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 20000u
#define DEPTH_MAX 200u
#define HEIGHT_MAX 800u
#define REPEAT_MAX 1000u /* RE2's */
#define RANGES_MAX 512u  /* of one class */

struct parser {
    struct regex_tree *tree;
    const char *at, *wrong;
    bool fold, lines, dot_newline; /* flags i, m, s */
    unsigned depth;
};

static int alternation(struct parser *p);

static int fail(struct parser *p, const char *wrong)
{
    p->wrong = wrong;
    return -1;
}

/* Chains of one kind to the left are unrolled. */
static unsigned height_of(const struct regex_tree *t, enum regex_kind kind, int left, int right)
{
    unsigned height = 0;
    if (kind == REGEX_CLASS)
        return 0;
    if (left >= 0)
        height = t->nodes[left].height + (t->nodes[left].kind == kind && right >= 0 ? 0 : 1);
    if (right >= 0 && t->nodes[right].height + 1 > height)
        height = t->nodes[right].height + 1;
    return height;
}

static int node(struct parser *p, enum regex_kind kind, int left, int right)
{
    struct regex_tree *t = p->tree;
    unsigned height = height_of(t, kind, left, right);
    if (height > HEIGHT_MAX)
        return fail(p, "nested too deep");
    if (t->n == t->size) {
        size_t size = t->size ? t->size * 2 : 64;
        struct regex_node *nodes =
            size > NODES_MAX ? NULL : realloc(t->nodes, size * sizeof(*nodes));
        if (!nodes)
            return fail(p, "expression too large");
        t->nodes = nodes;
        t->size = size;
    }
    t->nodes[t->n] =
        (struct regex_node){.kind = kind, .left = left, .right = right, .height = height};
    return (int)t->n++;
}

/* ---- classes -----------------------------------------------------------------------------------
 */

struct class
{
    struct regex_range ranges[RANGES_MAX];
    size_t n;
    bool overflow;
};

static void add_range(struct class *c, uint32_t low, uint32_t high)
{
    if (c->n == RANGES_MAX)
        c->overflow = true;
    else
        c->ranges[c->n++] = (struct regex_range){low, high};
}

static int by_start(const void *a, const void *b)
{
    const struct regex_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void negate(struct class *c)
{
    struct class out = {.n = 0};
    uint32_t next = 0;
    qsort(c->ranges, c->n, sizeof(*c->ranges), by_start);
    for (size_t i = 0; i < c->n; i++) {
        if (c->ranges[i].low > next)
            add_range(&out, next, c->ranges[i].low - 1);
        if (c->ranges[i].high + 1 > next)
            next = c->ranges[i].high + 1;
    }
    if (next <= REGEX_RUNE_MAX)
        add_range(&out, next, REGEX_RUNE_MAX);
    out.overflow |= c->overflow;
    *c = out;
}

static void fold(struct class *c)
{
    for (size_t i = 0, n = c->n; i < n; i++) {
        for (uint32_t first = 'A'; first <= 'a'; first += 'a' - 'A') {
            uint32_t low = c->ranges[i].low, high = c->ranges[i].high;
            low = low < first ? first : low;
            high = high > first + 25 ? first + 25 : high;
            if (low <= high)
                add_range(c, low ^ 0x20, high ^ 0x20);
        }
    }
}

static int class_node(struct parser *p, struct class *c, bool negated)
{
    struct regex_tree *t = p->tree;
    if (p->fold)
        fold(c);
    if (negated)
        negate(c);
    if (c->overflow)
        return fail(p, "class too large");
    struct regex_range *ranges = realloc(t->ranges, (t->n_ranges + c->n + 1) * sizeof(*ranges));
    if (!ranges)
        return fail(p, "out of memory");
    t->ranges = ranges;
    int index = node(p, REGEX_CLASS, (int)t->n_ranges, (int)c->n);
    if (c->n)
        memcpy(ranges + t->n_ranges, c->ranges, c->n * sizeof(*ranges));
    t->n_ranges += c->n;
    return index;
}

/* \d \s \w and their opposites. */
static bool perl_class(char letter, struct class *c)
{
    struct class found = {.n = 0};
    switch (letter | 0x20) {
    case 'd':
        add_range(&found, '0', '9');
        break;
    case 's':
        add_range(&found, '\t', '\n');
        add_range(&found, '\f', '\r');
        add_range(&found, ' ', ' ');
        break;
    case 'w':
        add_range(&found, '0', '9');
        add_range(&found, 'A', 'Z');
        add_range(&found, '_', '_');
        add_range(&found, 'a', 'z');
        break;
    default:
        return false;
    }
    if (!(letter & 0x20))
        negate(&found);
    for (size_t i = 0; i < found.n; i++)
        add_range(c, found.ranges[i].low, found.ranges[i].high);
    return true;
}

/* "[:alpha:]" inside a class. */
static bool posix_class(struct parser *p, struct class *c)
{
    static const struct {
        const char *name, *ranges; /* pairs */
    } known[] = {{"alnum", "09AZaz"},   {"alpha", "AZaz"},
                 {"ascii", "\x01\x7f"}, {"blank", "\t\t  "},
                 {"digit", "09"},       {"graph", "!~"},
                 {"lower", "az"},       {"print", " ~"},
                 {"punct", "!/:@[`{~"}, {"space", "\t\r  "},
                 {"upper", "AZ"},       {"word", "09AZaz__"},
                 {"xdigit", "09AFaf"},  {"cntrl", "\x01\x1f\x7f\x7f"}};
    const char *start = p->at + 2, *stop = strstr(start, ":]");
    bool negated = *start == '^';
    struct class found = {.n = 0};
    start += negated;
    for (size_t i = 0; stop && i < sizeof(known) / sizeof(*known); i++) {
        if (strlen(known[i].name) != (size_t)(stop - start) ||
            strncmp(known[i].name, start, (size_t)(stop - start)) != 0)
            continue;
        for (const char *r = known[i].ranges; *r; r += 2)
            add_range(&found, (uint32_t)r[0], (uint32_t)r[1]);
        if (negated)
            negate(&found);
        for (size_t j = 0; j < found.n; j++)
            add_range(c, found.ranges[j].low, found.ranges[j].high);
        p->at = stop + 2;
        return true;
    }
    return false;
}

static bool hexadecimal(struct parser *p, uint32_t *out)
{
    bool braces = *p->at == '{';
    size_t digits = 0;
    p->at += braces;
    for (*out = 0; digits < (braces ? 8u : 2u); digits++, p->at++) {
        char c = *p->at;
        uint32_t value = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 99;
        if (value == 99)
            break;
        *out = *out * 16 + value;
    }
    if (!braces)
        return digits == 2;
    return digits > 0 && *p->at++ == '}' && *out <= REGEX_RUNE_MAX;
}

/* A character behind a backslash. */
static bool escaped(struct parser *p, uint32_t *out)
{
    static const char letters[] = "afnrtv", meaning[] = "\a\f\n\r\t\v";
    char c = *p->at++;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == 'x')
        return hexadecimal(p, out);
    if (letter) {
        *out = (uint32_t)meaning[letter - letters];
        return true;
    }
    *out = (unsigned char)c;
    bool punctuation =
        c > ' ' && c < 0x7f && !(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (!punctuation)
        p->at--;
    return punctuation;
}

static bool class_rune(struct parser *p, uint32_t *out)
{
    if (*p->at == '\\') {
        p->at++;
        return escaped(p, out);
    }
    p->at = regex_rune(p->at, out);
    return *out != 0;
}

static int class_of(struct parser *p)
{
    struct class c = {.n = 0};
    bool negated = *++p->at == '^';
    uint32_t low, high;
    p->at += negated;
    for (bool first = true; first || *p->at != ']'; first = false) {
        if (!*p->at)
            return fail(p, "missing ]");
        if (p->at[0] == '[' && p->at[1] == ':' && posix_class(p, &c))
            continue;
        if (*p->at == '\\' && p->at[1] && perl_class(p->at[1], &c)) {
            p->at += 2;
            continue;
        }
        if (!class_rune(p, &low))
            return fail(p, "bad escape");
        high = low;
        if (p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            if (!class_rune(p, &high) || high < low)
                return fail(p, "bad range");
        }
        add_range(&c, low, high);
    }
    p->at++;
    return class_node(p, &c, negated);
}

/* ---- atoms -------------------------------------------------------------------------------------
 */

static int one_rune(struct parser *p, uint32_t rune)
{
    struct class c = {.n = 0};
    add_range(&c, rune, rune);
    return class_node(p, &c, false);
}

static int backslash(struct parser *p)
{
    struct class c = {.n = 0};
    uint32_t rune;
    char letter = p->at[1];
    static const struct {
        char letter;
        enum regex_kind kind;
    } assertions[] = {
        {'A', REGEX_TEXT_START}, {'z', REGEX_TEXT_END}, {'b', REGEX_WORD}, {'B', REGEX_NOT_WORD}};
    for (size_t i = 0; i < sizeof(assertions) / sizeof(*assertions); i++) {
        if (assertions[i].letter == letter) {
            p->at += 2;
            return node(p, assertions[i].kind, -1, -1);
        }
    }
    if (letter && perl_class(letter, &c)) {
        p->at += 2;
        return class_node(p, &c, false);
    }
    p->at++;
    return escaped(p, &rune) ? one_rune(p, rune) : fail(p, "bad escape");
}

/* "i", "i-s" and what follows. 1: ':' (a group), 0: ')' (for the rest of this group). */
static int flags_of(struct parser *p)
{
    bool on = true;
    for (;; p->at++) {
        switch (*p->at) {
        case 'i':
            p->fold = on;
            break;
        case 'm':
            p->lines = on;
            break;
        case 's':
            p->dot_newline = on;
            break;
        case 'U': /* greed does not matter here */
            break;
        case '-':
            on = false;
            break;
        case ':':
            p->at++;
            return 1;
        case ')':
            return 0;
        default:
            return fail(p, "bad group");
        }
    }
}

static int group(struct parser *p)
{
    const struct parser before = *p;
    int kind = 1;
    p->at++;
    if (*p->at == '?') {
        p->at++;
        if (*p->at == 'P' || *p->at == '<') {
            const char *stop = strchr(p->at, '>');
            p->at += *p->at == 'P';
            if (*p->at != '<' || !stop)
                return fail(p, "bad group");
            p->at = stop + 1;
        } else if ((kind = flags_of(p)) < 0) {
            return -1;
        }
    }
    int inner = kind ? alternation(p) : node(p, REGEX_EMPTY, -1, -1);
    if (inner < 0)
        return -1;
    if (*p->at != ')')
        return fail(p, "missing )");
    p->at++;
    if (kind) { /* the flags were the group's */
        p->fold = before.fold;
        p->lines = before.lines;
        p->dot_newline = before.dot_newline;
    }
    return inner;
}

static int dot(struct parser *p)
{
    struct class c = {.n = 0};
    p->at++;
    if (!p->dot_newline)
        add_range(&c, '\n', '\n');
    negate(&c);
    bool before = p->fold;
    p->fold = false;
    int index = class_node(p, &c, false);
    p->fold = before;
    return index;
}

static int atom(struct parser *p)
{
    uint32_t rune;
    switch (*p->at) {
    case '(':
        return group(p);
    case '[':
        return class_of(p);
    case '.':
        return dot(p);
    case '^':
        p->at++;
        return node(p, p->lines ? REGEX_LINE_START : REGEX_TEXT_START, -1, -1);
    case '$':
        p->at++;
        return node(p, p->lines ? REGEX_LINE_END : REGEX_TEXT_END, -1, -1);
    case '\\':
        return backslash(p);
    case '*':
    case '+':
    case '?':
        return fail(p, "nothing to repeat");
    default:
        p->at = regex_rune(p->at, &rune);
        return one_rune(p, rune);
    }
}

/* ---- repeats, sequences, alternatives ----------------------------------------------------------
 */

static const char *number(const char *at, unsigned *out)
{
    const char *start = at;
    for (*out = 0; *at >= '0' && *at <= '9' && at - start < 5; at++)
        *out = *out * 10 + (unsigned)(*at - '0');
    return at > start ? at : NULL;
}

/* "{2}", "{2,}", "{2,5}"; anything else is a brace like any character. */
static bool counted(const char **at, unsigned *min, unsigned *max)
{
    const char *end = number(*at + 1, min);
    *max = *min;
    if (end && *end == ',') {
        const char *second = number(end + 1, max);
        if (!second)
            *max = REGEX_UNLIMITED;
        end = second ? second : end + 1;
    }
    if (!end || *end != '}')
        return false;
    *at = end + 1;
    return true;
}

static int repeat(struct parser *p)
{
    int inner = atom(p);
    while (inner >= 0) {
        unsigned min = 0, max = REGEX_UNLIMITED;
        if (*p->at == '*' || *p->at == '+' || *p->at == '?') {
            min = *p->at == '+';
            max = *p->at == '?' ? 1 : REGEX_UNLIMITED;
            p->at++;
        } else if (*p->at != '{' || !counted(&p->at, &min, &max)) {
            break;
        }
        if (*p->at == '?') /* lazy: matches the same texts */
            p->at++;
        if (min > REPEAT_MAX || (max != REGEX_UNLIMITED && (max > REPEAT_MAX || max < min)))
            return fail(p, "bad repeat count");
        inner = node(p, REGEX_REPEAT, inner, -1);
        if (inner >= 0) {
            p->tree->nodes[inner].min = min;
            p->tree->nodes[inner].max = max;
        }
    }
    return inner;
}

static int sequence(struct parser *p)
{
    int left = node(p, REGEX_EMPTY, -1, -1);
    while (left >= 0 && *p->at && *p->at != '|' && *p->at != ')') {
        int right = repeat(p);
        left = right < 0 ? -1 : node(p, REGEX_SEQUENCE, left, right);
    }
    return left;
}

static int alternation(struct parser *p)
{
    if (++p->depth > DEPTH_MAX)
        return fail(p, "nested too deep");
    int left = sequence(p);
    while (left >= 0 && *p->at == '|') {
        p->at++;
        int right = sequence(p);
        left = right < 0 ? -1 : node(p, REGEX_EITHER, left, right);
    }
    p->depth--;
    return left;
}

int regex_parse(const char *text, struct regex_tree *tree, const char **wrong)
{
    struct parser p = {.tree = tree, .at = text};
    int root = alternation(&p);
    if (root >= 0 && *p.at)
        root = fail(&p, "unexpected )");
    *wrong = p.wrong;
    return root;
}

const char *regex_rune(const char *at, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)at;
    size_t more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t rune = more == 3 ? *p & 7u : more == 2 ? *p & 15u : more == 1 ? *p & 31u : *p;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            more = 0;
            rune = 0xfffd;
            break;
        }
        rune = rune << 6 | (p[i] & 0x3fu);
    }
    *out = (*p >= 0x80 && more == 0) || rune > REGEX_RUNE_MAX ? 0xfffd : rune;
    return at + (*p ? 1 + more : 0);
}
