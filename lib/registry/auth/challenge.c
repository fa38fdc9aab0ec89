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

static bool read_parameter(struct cursor *c, struct ocv_challenge *challenge, const char *name,
                           size_t len)
{
    char unknown[2] = "";
    struct {
        const char *name;
        char *out;
        size_t size;
    } known[] = {
        {"realm", challenge->realm, sizeof(challenge->realm)},
        {"service", challenge->service, sizeof(challenge->service)},
        {"scope", challenge->scope, sizeof(challenge->scope)},
        {"error", challenge->error, sizeof(challenge->error)},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (len == strlen(known[i].name) && !strncasecmp(name, known[i].name, len))
            return read_value(c, known[i].out, known[i].size);
    read_value(c, unknown, sizeof(unknown)); /* unknown parameter: skipped, whatever its length */
    return true;
}

size_t ocv_challenge_parse(const char *text, size_t len, struct ocv_challenge *out, size_t max)
{
    struct cursor c = {text, text + len};
    struct ocv_challenge current = {0};
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
            good = read_parameter(&c, &current, name, name_len) && good;
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
