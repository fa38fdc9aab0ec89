/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parser of WWW-Authenticate. One header may hold several challenges and a comma separates both
 * challenges and parameters: a token that is followed by '=' is a parameter, any other one begins a
 * challenge. Never reads past text + len; output is bounded by the caller's array. */
#include "lib/registry/auth/credentials.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char token[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "!#$%&'*+-.^_`|~/";

struct cursor {
    const char *p;
    const char *end;
};

static void skip_set(struct cursor *c, const char *set)
{
    while (c->p < c->end && *c->p && strchr(set, *c->p))
        c->p++;
}

/* Copy a token or a quoted string; false if it does not fit or is not closed. */
static bool read_value(struct cursor *c, char *out, size_t size)
{
    size_t n = 0;
    bool fits = true;
    if (c->p < c->end && *c->p == '"') {
        for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
            if (*c->p == '\\' && c->p + 1 < c->end)
                c->p++;
            if (n + 1 < size)
                out[n++] = *c->p;
            else
                fits = false;
        }
        if (c->p >= c->end)
            return false;
        c->p++;
    } else {
        for (; c->p < c->end && *c->p != ',' && *c->p != ' ' && *c->p != '\t'; c->p++) {
            if (n + 1 < size)
                out[n++] = *c->p;
            else
                fits = false;
        }
    }
    out[n] = '\0';
    return fits && !memchr(out, '\n', n);
}

size_t ocv_challenge_parse(const char *text, size_t len, struct ocv_challenge *out, size_t max)
{
    struct cursor c = {text, text + len};
    struct ocv_challenge current = {0};
    struct {
        const char *name;
        char *out;
        size_t size;
    } known[] = {
        {"realm", current.realm, sizeof(current.realm)},
        {"service", current.service, sizeof(current.service)},
        {"scope", current.scope, sizeof(current.scope)},
        {"error", current.error, sizeof(current.error)},
    };
    bool open = false, good = true;
    size_t n = 0;
    while (n < max) {
        skip_set(&c, " \t,\r\n");
        const char *name = c.p;
        skip_set(&c, token);
        size_t name_len = (size_t)(c.p - name);
        if (!name_len)
            break;
        skip_set(&c, " \t");
        if (open && c.p < c.end && *c.p == '=') {
            c.p++;
            skip_set(&c, " \t=");
            char unknown[2]; /* parameters: skipped, whatever their length */
            size_t k = 0, end = sizeof(known) / sizeof(*known);
            while (k < end && (name_len != strlen(known[k].name) ||
                               strncasecmp(name, known[k].name, name_len) != 0))
                k++;
            if (k == end)
                read_value(&c, unknown, sizeof(unknown));
            else
                good = read_value(&c, known[k].out, known[k].size) && good;
            continue;
        }
        if (open && good && current.scheme[0])
            out[n++] = current;
        memset(&current, 0, sizeof(current));
        for (size_t i = 0; name_len < sizeof(current.scheme) && i < name_len; i++)
            current.scheme[i] =
                (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
        open = good = true;
    }
    if (n < max && open && good && current.scheme[0])
        out[n++] = current;
    return n;
}
