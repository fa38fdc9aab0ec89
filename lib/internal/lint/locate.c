/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where in its text a JSON document has the member that a pointer (RFC 6901) names. The text has
 * been parsed before: this walk is never longer than the text and does not
 * trust the earlier parse. */
#include "lib/base/cleanup.h"
#include "lib/internal/lint/lint_internal.h"

#include <stdlib.h>
#include <string.h>

#define POINTER_MAX 4096u
#define DEPTH_MAX 64 /* deeper values are skipped as one */

struct json_cursor {
    const char *text;
    size_t len, at;
};

static char peek_char(const struct json_cursor *w)
{
    return w->at < w->len ? w->text[w->at] : '\0';
}

static void skip_blanks(struct json_cursor *w)
{
    while (w->at < w->len && strchr(" \t\r\n", w->text[w->at]) && w->text[w->at])
        w->at++;
}

/* Past a string, whose content is [*start, *end). */
static void skip_string(struct json_cursor *w, size_t *start, size_t *end)
{
    *start = ++w->at;
    while (w->at < w->len && w->text[w->at] != '"')
        w->at += w->text[w->at] == '\\' ? 2 : 1;
    *end = w->at < w->len ? w->at : w->len;
    w->at = *end < w->len ? *end + 1 : w->len;
}

/* Past any value. */
static void skip_value(struct json_cursor *w)
{
    size_t depth = 0, start, end;
    do {
        char c = peek_char(w);
        if (c == '"')
            skip_string(w, &start, &end);
        else {
            if (c == '{' || c == '[')
                depth++;
            else if ((c == '}' || c == ']') && depth)
                depth--;
            w->at++;
        }
    } while (w->at < w->len && (depth || !strchr(",]} \t\r\n", peek_char(w)) || !peek_char(w)));
}

/* One step of a pointer, and what is left of it. "~1" is '/', "~0" is '~'. */
static bool same_key(const char *key, size_t len, const char *step, size_t step_len)
{
    size_t at = 0;
    for (size_t i = 0; i < step_len; i++, at++) {
        char c = step[i];
        if (c == '~' && i + 1 < step_len)
            c = step[++i] == '1' ? '/' : '~';
        if (at == len || key[at] != c)
            return false;
    }
    return at == len;
}

/* Step into a member of the current object or list. True if it is there: then w stands on its value
 * and `*found` on its key, or its value in a list. */
static bool enter_member(struct json_cursor *w, const char *step, size_t step_len, size_t *found)
{
    bool object = peek_char(w) == '{';
    size_t wanted = 0;
    if (!object && peek_char(w) != '[')
        return false;
    for (size_t i = 0; !object && i < step_len; i++)
        wanted = wanted * 10 + (size_t)(step[i] - '0');
    w->at++;
    for (size_t i = 0;; i++) {
        size_t start = 0, end = 0, at;
        skip_blanks(w);
        at = w->at;
        if (w->at >= w->len || peek_char(w) == '}' || peek_char(w) == ']' ||
            (object && peek_char(w) != '"'))
            return false;
        if (object) {
            skip_string(w, &start, &end);
            skip_blanks(w);
            w->at += peek_char(w) == ':';
            skip_blanks(w);
        }
        if (object ? same_key(w->text + start, end - start, step, step_len) : i == wanted) {
            *found = at;
            return true;
        }
        skip_value(w);
        skip_blanks(w);
        w->at += peek_char(w) == ',';
    }
}

/* Line and column of a place, counted on from another. A column is a character, not a byte of it.
 */
static void count_lines(const char *text, size_t from, size_t to, size_t *line, size_t *column)
{
    for (size_t i = from; i < to; i++) {
        *column = text[i] == '\n' ? 1 : *column + (((unsigned char)text[i] & 0xc0) != 0x80);
        *line += text[i] == '\n';
    }
}

void ocv_lint_locate(const char *text, size_t len, const char *pointer, size_t *line,
                     size_t *column)
{
    struct json_cursor w = {text, len, 0};
    skip_blanks(&w);
    size_t found = w.at;
    for (size_t depth = 0; *pointer == '/' && depth < DEPTH_MAX; depth++) {
        size_t n = strcspn(pointer + 1, "/");
        if (!enter_member(&w, pointer + 1, n, &found))
            break;
        pointer += n + 1;
    }
    *line = *column = 1;
    count_lines(text, 0, found < len ? found : len, line, column);
}

void ocv_lint_locate_entries(const char *text, size_t len, struct ocv_lint_position *out, size_t n)
{
    struct json_cursor w = {text, len, 0};
    struct ocv_lint_position at = {0, 1, 1};
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = at;
    skip_blanks(&w);
    if (!enter_member(&w, "manifests", 9, &found) || peek_char(&w) != '[')
        return;
    w.at++;
    for (size_t i = 0; i < n; i++) {
        skip_blanks(&w);
        count_lines(text, at.offset, w.at < len ? w.at : len, &at.line, &at.column);
        at.offset = w.at < len ? w.at : len;
        out[i] = at;
        skip_value(&w);
        skip_blanks(&w);
        w.at += peek_char(&w) == ',';
    }
}

static int add_step(struct ocv_buffer *pointer, const char *key, struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_append(pointer, "/", 1, err));
    for (; *key; key++)
        OCV_TRY(ocv_buffer_printf(pointer, err,
                                  *key == '/'   ? "~1"
                                  : *key == '~' ? "~0"
                                                : "%c",
                                  *key));
    return OCV_OK;
}

/* `pointer` names `json`, and then what was found. */
static int find_null(json_t *json, unsigned levels, struct ocv_buffer *pointer, bool *found,
                     struct ocv_error *err)
{
    const size_t len = pointer->len;
    const char *key;
    char number[24];
    json_t *value;
    size_t i;
    if (!levels)
        return OCV_OK;
    json_object_foreach(json, key, value)
    {
        OCV_TRY(add_step(pointer, key, err));
        *found = json_is_null(value);
        if (!*found)
            OCV_TRY(find_null(value, levels - 1, pointer, found, err));
        if (*found)
            return OCV_OK;
        pointer->len = len;
    }
    json_array_foreach(json, i, value)
    {
        snprintf(number, sizeof(number), "%zu", i);
        OCV_TRY(add_step(pointer, number, err));
        OCV_TRY(find_null(value, levels - 1, pointer, found, err));
        if (*found)
            return OCV_OK;
        pointer->len = len;
    }
    return OCV_OK;
}

int ocv_lint_null_member(const void *bytes, size_t len, unsigned levels, char **out,
                         struct ocv_error *err)
{
    bool found = false;
    ocv_auto_buffer pointer;
    ocv_buffer_init(&pointer, POINTER_MAX);
    *out = NULL;
    if (!memmem(bytes, len, "null", 4))
        return OCV_OK;
    ocv_auto_json *root =
        ocv_json_load_any(bytes, len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, NULL);
    if (!root)
        return ocv_error_nomem(err); /* it was read before */
    int status = find_null(root, levels, &pointer, &found, err);
    if (status == OCV_ERR_DATA) /* a name that is longer than any here */
        return OCV_OK;
    if (status == OCV_OK && found && !(*out = strndup(pointer.data, pointer.len)))
        status = ocv_error_nomem(err);
    return status;
}
