/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of strings in JSON. The strict parser accepts a document before positions are searched in
 * it. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

static size_t skip_json_string(const char *text, size_t at)
{
    for (at++; text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at + 1;
}

/* Skip one JSON value of a valid document. */
static size_t skip_json(const char *text, size_t at)
{
    size_t depth = 0;
    do {
        at = array_skip_blank(text, at);
        char c = text[at];
        if (c == '"') {
            at = skip_json_string(text, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            depth--;
            at++;
        } else if (c == ',' || c == ':') {
            at++;
        } else {
            at += strcspn(text + at, " \t\r\n,:]}");
        }
    } while (depth > 0);
    return at;
}

/* Elements or members between the brackets at `open`. */
static int json_spans(const char *source, const char *text, size_t open, struct array_spans *out,
                      struct ocv_error *err)
{
    size_t at = array_skip_blank(text, open + 1);
    out->n = 0;
    while (text[at] != ']' && text[at] != '}') {
        if (out->n == ARRAY_SPANS_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u members", source,
                                 ARRAY_SPANS_MAX);
        size_t from = at;
        at = skip_json(text, at);
        if (text[open] == '{')
            at = skip_json(text, array_skip_blank(text, array_skip_blank(text, at) + 1));
        out->list[out->n++] = (struct array_span){from, at};
        at = array_skip_blank(text, at);
        if (text[at] == ',')
            at = array_skip_blank(text, at + 1);
    }
    return OCV_OK;
}

/* Find the array of strings at `key`: `*member` and its value's position, or ARRAY_SPANS_MAX. */
static int json_find(const char *source, const struct ocv_buffer *text, const char *key,
                     struct array_spans *members, size_t *member, size_t *value,
                     struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(setup_json_load(source, text->data, text->len, &root, err));
    const json_t *array = json_object_get(root, key);
    bool bad = array && !json_is_array(array);
    for (size_t i = 0; i < json_array_size(array); i++)
        bad = bad || !json_is_string(json_array_get(array, i));
    if (bad)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: '%s' is not a list of strings", source, key);
    *member = ARRAY_SPANS_MAX;
    OCV_TRY(json_spans(source, text->data, array_skip_blank(text->data, 0), members, err));
    for (size_t i = 0; array && i < members->n; i++) {
        size_t from = members->list[i].from, end = skip_json_string(text->data, from);
        if (end - from != strlen(key) + 2 || memcmp(text->data + from + 1, key, strlen(key)) != 0)
            continue;
        *member = i;
        *value = array_skip_blank(text->data, array_skip_blank(text->data, end) + 1);
    }
    if (array && *member == ARRAY_SPANS_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: '%s' is written with escapes", source,
                             key);
    return OCV_OK;
}

/* The element equal to `value`, or ARRAY_SPANS_MAX. */
static int json_element(const char *source, const struct ocv_buffer *text, size_t open,
                        const char *value, struct array_spans *elements, size_t *found,
                        struct ocv_error *err)
{
    *found = ARRAY_SPANS_MAX;
    OCV_TRY(json_spans(source, text->data, open, elements, err));
    for (size_t i = 0; i < elements->n && *found == ARRAY_SPANS_MAX; i++) {
        const struct array_span *span = &elements->list[i];
        ocv_auto_json *string = ocv_json_load_any(text->data + span->from, span->to - span->from,
                                                  OCV_JSON_VALUES_MAX, JSON_DECODE_ANY, NULL);
        if (string && strcmp(json_string_value(string), value) == 0)
            *found = i;
    }
    return OCV_OK;
}

/* dockerd accepts an empty file. */
static bool is_blank(const struct ocv_buffer *text)
{
    return text->len == 0 ||
           (text->data[array_skip_blank(text->data, 0)] == '\0' && strlen(text->data) == text->len);
}

int setup_json_add(const char *source, struct ocv_buffer *text, const char *key, const char *value,
                   bool *made, struct ocv_error *err)
{
    static const char empty[] = "{}\n";
    struct array_spans spans = {.n = 0};
    size_t member = ARRAY_SPANS_MAX, open = 0, found = ARRAY_SPANS_MAX;
    ocv_auto_buffer quoted;
    ocv_buffer_init(&quoted, SETUP_FILE_MAX);
    *made = false;
    OCV_TRY(ocv_buffer_append(text, "", 0, err));
    if (is_blank(text))
        OCV_TRY(text_splice(text, 0, text->len, empty, strlen(empty), err));
    ocv_auto_json *string = json_string(value);
    OCV_TRY(string ? ocv_json_append(string, JSON_ENCODE_ANY, &quoted, err) : ocv_error_nomem(err));
    OCV_TRY(json_find(source, text, key, &spans, &member, &open, err));
    if (member == ARRAY_SPANS_MAX) {
        const char *nl = toml_newline(text->data, text->len);
        ocv_auto_buffer add;
        ocv_buffer_init(&add, SETUP_FILE_MAX);
        size_t at, to;
        *made = true;
        open = array_skip_blank(text->data, 0);
        if (spans.n) {
            /* after the last member, spaced as the first one is after the brace */
            size_t first = spans.list[0].from;
            at = to = spans.list[spans.n - 1].to;
            OCV_TRY(ocv_buffer_append(&add, ", ", first > open + 1 ? 1 : 2, err));
            OCV_TRY(ocv_buffer_append(&add, text->data + open + 1, first - open - 1, err));
            OCV_TRY(ocv_buffer_printf(&add, err, "\"%s\": [%s]", key, quoted.data));
        } else {
            at = open + 1;
            to = array_skip_blank(text->data, at);
            OCV_TRY(ocv_buffer_printf(&add, err, "%s  \"%s\": [%s]%s", nl, key, quoted.data, nl));
        }
        return text_splice(text, at, to, add.data, add.len, err);
    }
    OCV_TRY(json_element(source, text, open, value, &spans, &found, err));
    return found != ARRAY_SPANS_MAX ? OCV_OK
                                    : array_insert_first(text, open, &spans, quoted.data, err);
}

int setup_json_remove(const char *source, struct ocv_buffer *text, const char *key,
                      const char *value, bool member_too, struct ocv_error *err)
{
    struct array_spans members = {.n = 0}, elements = {.n = 0};
    size_t member = ARRAY_SPANS_MAX, open = 0, found = ARRAY_SPANS_MAX;
    if (is_blank(text))
        return OCV_OK;
    OCV_TRY(json_find(source, text, key, &members, &member, &open, err));
    if (member == ARRAY_SPANS_MAX)
        return OCV_OK;
    OCV_TRY(json_element(source, text, open, value, &elements, &found, err));
    if (found == ARRAY_SPANS_MAX)
        return OCV_OK;
    if (elements.n == 1 && member_too)
        return array_remove(text, array_skip_blank(text->data, 0), &members, member, err);
    return array_remove(text, open, &elements, found, err);
}

/* JSON objects: daemon.json and the state. */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors write it */

int setup_json_load(const char *source, const char *text, size_t len, json_t **out,
                    struct ocv_error *err)
{
    json_error_t e;
    if (len > SETUP_FILE_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: larger than %u bytes", source, SETUP_FILE_MAX);
    if (len && memchr(text, '\0', len))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: has a NUL byte", source);
    if (len >= strlen(BYTE_ORDER_MARK) && !memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
        return ocv_error_set(err, OCV_ERR_DATA,
                             "%s: starts with a UTF-8 byte order mark (BOM); remove it", source);
    /* Go accepts a duplicate name; do not guess which one counts */
    json_t *root = ocv_json_load_any(text, len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return ocv_error_set(err, OCV_ERR_DATA, "%s:%d: %s", source, e.line, e.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return ocv_error_set(err, OCV_ERR_DATA, "%s: not a JSON object", source);
    }
    *out = root;
    return OCV_OK;
}
