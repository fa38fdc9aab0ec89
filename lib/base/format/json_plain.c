/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A fast reader for the JSON that nearly every index and manifest consists of: objects, lists,
 * short keys, ASCII without escapes, whole numbers. jansson looks at each byte three times, which
 * was half of the time of a choice among 1,000 variants.
 *
 * Invariant: the tree is the one that jansson would build. Anything else, and anything malformed,
 * is left to jansson, which also reports the error. */
#include "lib/base/format/json.h"

#include <string.h>

#define DEPTH_MAX 16u /* of plain documents: each level is a call */
#define KEY_MAX 128u
#define DIGITS_MAX 18u /* all numbers of so many digits are whole in 64 bits */

struct json_reader {
    const char *at, *end;
    unsigned depth;
    bool nomem;
};

static json_t *read_value(struct json_reader *r);

static json_t *check_built(struct json_reader *r, json_t *value)
{
    r->nomem = r->nomem || !value;
    return value;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Take `c` and the white space before it. */
static bool take_char(struct json_reader *r, char c)
{
    while (r->at < r->end && is_space(*r->at))
        r->at++;
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* To the closing quote; NULL when an escape, a control or a byte beyond ASCII comes before it. */
static const char *take_string(struct json_reader *r, size_t *len)
{
    if (!take_char(r, '"'))
        return NULL;
    for (const char *start = r->at; r->at < r->end; r->at++) {
        char c = *r->at;
        if (c == '"') {
            *len = (size_t)(r->at++ - start);
            return start;
        }
        if (c < ' ' || c > '~' || c == '\\')
            return NULL;
    }
    return NULL;
}

static bool read_member(struct json_reader *r, json_t *object)
{
    char key[KEY_MAX];
    size_t len = 0;
    const char *name = take_string(r, &len);
    if (!name || len >= sizeof(key) || !take_char(r, ':'))
        return false;
    memcpy(key, name, len);
    key[len] = '\0';
    size_t before = json_object_size(object);
    json_t *value = read_value(r);
    if (!value)
        return false;
    if (json_object_set_new_nocheck(object, key, value) < 0) {
        r->nomem = true;
        return false;
    }
    return json_object_size(object) > before; /* else a duplicate key */
}

static bool read_item(struct json_reader *r, json_t *list)
{
    json_t *value = read_value(r);
    if (!value)
        return false;
    if (json_array_append_new(list, value) == 0)
        return true;
    r->nomem = true;
    return false;
}

/* The members of `whole`, up to `close`. */
static json_t *read_members(struct json_reader *r, json_t *whole, char close,
                            bool (*read_one)(struct json_reader *, json_t *))
{
    if (!check_built(r, whole))
        return NULL;
    bool ok = r->depth++ < DEPTH_MAX;
    if (ok && !take_char(r, close)) {
        do
            ok = read_one(r, whole);
        while (ok && take_char(r, ','));
        ok = ok && take_char(r, close);
    }
    r->depth--;
    if (ok)
        return whole;
    json_decref(whole);
    return NULL;
}

static json_t *read_value(struct json_reader *r)
{
    size_t len = 0;
    if (take_char(r, '{'))
        return read_members(r, json_object(), '}', read_member);
    if (take_char(r, '['))
        return read_members(r, json_array(), ']', read_item);
    if (r->at == r->end)
        return NULL;
    if (*r->at == '"') {
        const char *text = take_string(r, &len);
        return text ? check_built(r, json_stringn_nocheck(text, len)) : NULL;
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
        bool negative = *r->at == '-';
        const char *start = r->at += negative;
        json_int_t n = 0;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && r->at - start < DIGITS_MAX)
            n = n * 10 + (*r->at++ - '0');
        if (r->at == start || (*start == '0' && r->at - start > 1) ||
            (r->at < r->end && strchr("0123456789.eE", *r->at)))
            return NULL;
        return check_built(r, json_integer(negative ? -n : n));
    }
    const char *word = *r->at == 't' ? "true" : *r->at == 'f' ? "false" : "null";
    len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return NULL;
    r->at += len;
    return *word == 't' ? json_true() : *word == 'f' ? json_false() : json_null();
}

json_t *ocv_json_plain(const char *text, size_t len, bool *nomem)
{
    struct json_reader r = {.at = text, .end = text + len};
    json_t *value = take_char(&r, '{') ? read_members(&r, json_object(), '}', read_member) : NULL;
    while (r.at < r.end && is_space(*r.at))
        r.at++;
    *nomem = r.nomem;
    if (!value || r.at == r.end)
        return value;
    json_decref(value);
    return NULL;
}
