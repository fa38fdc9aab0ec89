/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/json.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define MALFORMED 1

struct json_walker {
    const char *p, *end;
    char *word; /* the last string or number, decoded */
    unsigned depth;
    struct ocv_json_at at;
    int (*visit)(void *data, const struct ocv_json_at *at);
    void *data;
    int answer; /* of `visit` */
};

static void skip_space(struct json_walker *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\r' || *w->p == '\t'))
        w->p++;
}

static bool take(struct json_walker *w, char c)
{
    skip_space(w);
    bool there = w->p < w->end && *w->p == c;
    w->p += there;
    return there;
}

static int take_hex(struct json_walker *w, unsigned *out)
{
    *out = 0;
    for (unsigned i = 0; i < 4; i++, w->p++) {
        if (w->p == w->end)
            return MALFORMED;
        char c = *w->p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return MALFORMED;
        *out = *out * 16 + digit;
    }
    return 0;
}

/* Behind the opening quote. */
static int take_string(struct json_walker *w)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *out = w->word;
    while (w->p < w->end && *w->p != '"') {
        char c = *w->p++;
        if ((unsigned char)c < ' ')
            return MALFORMED;
        if (c != '\\') {
            *out++ = c;
            continue;
        }
        if (w->p == w->end || !*w->p)
            return MALFORMED;
        c = *w->p++;
        const char *known = strchr(escapes, c);
        if (known) {
            *out++ = meant[known - escapes];
            continue;
        }
        unsigned code, low; /* behind "\u": at most as many bytes as the escape has */
        if (c != 'u' || take_hex(w, &code))
            return MALFORMED;
        if (code >= 0xd800 && code < 0xdc00) {
            if (w->end - w->p < 2 || w->p[0] != '\\' || w->p[1] != 'u')
                return MALFORMED;
            w->p += 2;
            if (take_hex(w, &low) || low < 0xdc00 || low > 0xdfff)
                return MALFORMED;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code <= 0xdfff) {
            return MALFORMED;
        }
        static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        unsigned n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (unsigned i = n - 1; i > 0; i--, code >>= 6)
            out[i] = (char)(0x80 | (code & 0x3f));
        *out = (char)(heads[n] | code);
        out += n;
    }
    *out = '\0';
    return w->p++ == w->end ? MALFORMED : 0;
}

static int walk_value(struct json_walker *w)
{
    skip_space(w);
    char c = w->p < w->end ? *w->p : '\0';
    bool bad = false;
    if (c == '"') {
        w->p++;
        bad = take_string(w) != 0;
    } else if (c == '[' || c == '{') {
        w->p++;
    } else if (c == 't' || c == 'f' || c == 'n') {
        const char *word = c == 't' ? "true" : c == 'f' ? "false" : "null";
        size_t n = strlen(word);
        bad = (size_t)(w->end - w->p) < n || memcmp(w->p, word, n) != 0;
        w->p += bad ? 0 : n;
        c = c == 'n' ? 'n' : 'b';
    } else {
        const char *from = w->p;
        while (w->p < w->end && *w->p && strchr("0123456789+-.eE", *w->p))
            w->p++;
        memcpy(w->word, from, (size_t)(w->p - from));
        w->word[w->p - from] = '\0';
        bad = from == w->p;
        c = '0';
    }
    if (bad)
        return MALFORMED;
    if (w->depth <= OCV_JSON_WALK_KEYS) {
        w->at.depth = w->depth;
        w->at.kind = c;
        w->at.text = c == '"' || c == '0' ? w->word : NULL;
        w->answer = w->visit(w->data, &w->at);
    }
    if (w->answer || (c != '[' && c != '{'))
        return 0;
    char close = c == '[' ? ']' : '}';
    if (w->depth++ == OCV_JSON_WALK_DEPTH)
        return MALFORMED;
    for (bool first = true; !(first && take(w, close)); first = false) {
        if (!first && take(w, close))
            break;
        if (!first && !take(w, ','))
            return MALFORMED;
        if (close == '}' && (!take(w, '"') || take_string(w) || !take(w, ':')))
            return MALFORMED;
        const char *key = close == '}' ? w->word : "[]";
        if (w->depth <= OCV_JSON_WALK_KEYS) {
            size_t n = strlen(key);
            memcpy(w->at.keys[w->depth - 1], n < OCV_JSON_WALK_KEY ? key : "",
                   n < OCV_JSON_WALK_KEY ? n + 1 : 1);
        }
        if (walk_value(w))
            return MALFORMED;
        if (w->answer)
            return 0;
    }
    w->depth--;
    return 0;
}

int ocv_json_walk(const char *text, size_t len,
                  int (*visit)(void *data, const struct ocv_json_at *at), void *data,
                  struct ocv_error *err)
{
    char *word = malloc(len + 1);
    struct json_walker w = {.p = text, .end = text + len, .word = word, .visit = visit};
    if (!word)
        return ocv_error_nomem(err);
    w.data = data;
    skip_space(&w);
    bool bad = w.p == w.end || *w.p != '{' || walk_value(&w);
    skip_space(&w);
    bad = bad || w.p != w.end;
    explicit_bzero(word, len + 1); /* it may have held a token */
    free(word);
    if (w.answer)
        return w.answer;
    return bad ? ocv_error_set(err, OCV_ERR_DATA, "malformed JSON") : OCV_OK;
}

bool ocv_json_is_at(const struct ocv_json_at *at, const char *first, const char *second,
                    const char *third)
{
    const char *const wanted[] = {first, second, third};
    unsigned n = 0;
    while (n < OCV_JSON_WALK_KEYS && wanted[n])
        n++;
    if (at->depth != n)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(at->keys[i], wanted[i]) != 0)
            return false;
    return true;
}
