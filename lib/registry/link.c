/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Link headers (RFC 8288, section 3): any number of links in one, their parameters in any order,
 * relations quoted or not, and several in one "rel". Never reads past text + len. */
#include "lib/registry/registry_internal.h"

#include <string.h>
#include <strings.h>

struct link_cursor {
    const char *p, *end;
};

static void skip_spaces(struct link_cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
        c->p++;
}

static bool take(struct link_cursor *c, char wanted)
{
    skip_spaces(c);
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

/* A token, or what a quoted string holds; escapes are kept, as no relation has one. */
static size_t read_word(struct link_cursor *c, const char **out)
{
    if (take(c, '"')) {
        *out = c->p;
        while (c->p < c->end && *c->p != '"')
            c->p += c->p[0] == '\\' && c->end - c->p > 1 ? 2 : 1;
        size_t len = (size_t)(c->p - *out);
        c->p += c->p < c->end;
        return len;
    }
    *out = c->p;
    while (c->p < c->end && *c->p && !strchr(" \t;,=\"<>", *c->p))
        c->p++;
    return (size_t)(c->p - *out);
}

static bool has_next(const char *relations, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && relations[i + n] != ' ' && relations[i + n] != '\t')
            n++;
        if (n == 4 && !strncasecmp(relations + i, "next", 4))
            return true;
        i += n + 1;
    }
    return false;
}

size_t ocv_link_next(const char *text, size_t len, const char **target)
{
    struct link_cursor c = {text, text + len};
    while (c.p < c.end) {
        if (!take(&c, '<')) {
            c.p += c.p < c.end; /* a comma, or what is no link */
            continue;
        }
        const char *start = c.p;
        const char *close = memchr(start, '>', (size_t)(c.end - start));
        if (!close)
            return 0;
        c.p = close + 1;
        /* Is its relation to this document "next"? Only the first "rel" counts, and a link with an
         * anchor is about another document. */
        bool next = false, seen = false, elsewhere = false;
        while (take(&c, ';')) {
            const char *name, *value = "";
            skip_spaces(&c);
            size_t name_len = read_word(&c, &name), value_len = 0;
            if (take(&c, '=')) {
                skip_spaces(&c);
                value_len = read_word(&c, &value);
            }
            if (name_len == 3 && !strncasecmp(name, "rel", 3) && !seen) {
                seen = true;
                next = has_next(value, value_len);
            }
            elsewhere = elsewhere || (name_len == 6 && !strncasecmp(name, "anchor", 6));
        }
        if (next && !elsewhere) {
            *target = start;
            return (size_t)(close - start);
        }
    }
    return 0;
}
