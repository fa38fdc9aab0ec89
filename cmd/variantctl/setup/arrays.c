/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One string in an array of strings, in JSON and in TOML, added and taken out with every other byte
 * kept. Both notations bracket and separate alike; a JSON document has passed the strict parser
 * before its places are looked for. */
#include "document.h"

#include <stdlib.h>
#include <string.h>

/* ---- places -----------------------------------------------------------------------------------
 */

struct span {
    size_t from, to;
};

#define SPANS_MAX 1024u

/* Places of an array's elements or an object's members. */
struct spans {
    struct span list[SPANS_MAX];
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blank(const char *text, size_t at)
{
    while (is_blank(text[at])) /* text ends with NUL */
        at++;
    return at;
}

static size_t skip_json_string(const char *text, size_t at)
{
    for (at++; text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at + 1;
}

/* One JSON value of a valid document. */
static size_t skip_json(const char *text, size_t at)
{
    size_t depth = 0;
    do {
        at = skip_blank(text, at);
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
static int json_spans(const char *source, const char *text, size_t open, struct spans *out,
                      struct ocv_error *err)
{
    size_t at = skip_blank(text, open + 1);
    out->n = 0;
    while (text[at] != ']' && text[at] != '}') {
        if (out->n == SPANS_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u members", source,
                                 SPANS_MAX);
        size_t from = at;
        at = skip_json(text, at);
        if (text[open] == '{')
            at = skip_json(text, skip_blank(text, skip_blank(text, at) + 1));
        out->list[out->n++] = (struct span){from, at};
        at = skip_blank(text, at);
        if (text[at] == ',')
            at = skip_blank(text, at + 1);
    }
    return OCV_OK;
}

static int toml_spans(const char *source, const struct toml *toml, const struct toml_item *item,
                      struct spans *out, struct ocv_error *err)
{
    size_t at = 0, from, to;
    char *text;
    out->n = 0;
    while ((text = toml_next_string(toml, item, &at, &from, &to)) != NULL) {
        free(text);
        if (out->n == SPANS_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u members", source,
                                 SPANS_MAX);
        out->list[out->n++] = (struct span){from, to};
    }
    return OCV_OK;
}

/* ---- edits that both share --------------------------------------------------------------------
 */

/* First in the array at `open`, in its manner: on a line of its own where the others are. */
static int insert_first(struct ocv_buffer *text, size_t open, const struct spans *spans,
                        const char *quoted, struct ocv_error *err)
{
    ocv_auto_buffer add;
    ocv_buffer_init(&add, SETUP_FILE_MAX);
    size_t first = spans->n ? spans->list[0].from : open + 1;
    bool lines = memchr(text->data + open, '\n', first - open) != NULL;
    int status = ocv_buffer_printf(&add, err, "%s%s", quoted, spans->n ? "," : "");
    if (status == OCV_OK && spans->n && !lines)
        status = ocv_buffer_append(&add, " ", 1, err);
    if (status == OCV_OK && spans->n && lines) {
        size_t line = first; /* line end and indentation before the first element */
        while (is_blank(text->data[line - 1]))
            line--;
        status = ocv_buffer_append(&add, text->data + line, first - line, err);
    }
    return status < 0 ? status : text_splice(text, first, first, add.data, add.len, err);
}

/* Member or element i goes with one comma. */
static int remove_span(struct ocv_buffer *text, size_t open, const struct spans *spans, size_t i,
                       struct ocv_error *err)
{
    size_t from = spans->list[i].from, to = spans->list[i].to;
    if (i + 1 < spans->n) {
        to = spans->list[i + 1].from;
    } else if (i > 0) {
        from = spans->list[i - 1].to;
    } else { /* the only one: what stands between it and the bracket goes, too */
        from = open + 1;
        size_t at = skip_blank(text->data, to);
        to = text->data[at] == ']' || text->data[at] == '}' ? at : to;
    }
    return text_splice(text, from, to, NULL, 0, err);
}

static int quote_json(const char *value, struct ocv_buffer *out, struct ocv_error *err)
{
    setup_auto_json *string = json_string(value);
    return string ? setup_json_dump(string, JSON_ENCODE_ANY, out, err) : ocv_error_nomem(err);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

/* A document with the array of strings at `key`: `*member` and its value's place, or SPANS_MAX. */
static int json_find(const char *source, const struct ocv_buffer *text, const char *key,
                     struct spans *members, size_t *member, size_t *value, struct ocv_error *err)
{
    json_t *root = NULL;
    int status = setup_json_load(source, text->data, text->len, &root, err);
    if (status < 0)
        return status;
    const json_t *array = json_object_get(root, key);
    bool bad = array && !json_is_array(array);
    for (size_t i = 0; i < json_array_size(array); i++)
        bad = bad || !json_is_string(json_array_get(array, i));
    bool there = array != NULL;
    json_decref(root);
    if (bad)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: '%s' is not a list of strings", source, key);
    *member = SPANS_MAX;
    status = json_spans(source, text->data, skip_blank(text->data, 0), members, err);
    for (size_t i = 0; there && i < members->n && status == OCV_OK; i++) {
        size_t from = members->list[i].from, end = skip_json_string(text->data, from);
        if (end - from != strlen(key) + 2 || memcmp(text->data + from + 1, key, strlen(key)) != 0)
            continue;
        *member = i;
        *value = skip_blank(text->data, skip_blank(text->data, end) + 1);
    }
    if (status == OCV_OK && there && *member == SPANS_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: '%s' is written with escapes", source,
                             key);
    return status;
}

/* The element that is `value`, or SPANS_MAX. */
static int json_element(const char *source, const struct ocv_buffer *text, size_t open,
                        const char *value, struct spans *elements, size_t *found,
                        struct ocv_error *err)
{
    int status = json_spans(source, text->data, open, elements, err);
    *found = SPANS_MAX;
    for (size_t i = 0; status == OCV_OK && i < elements->n && *found == SPANS_MAX; i++) {
        const struct span *span = &elements->list[i];
        setup_auto_json *string =
            json_loadb(text->data + span->from, span->to - span->from, JSON_DECODE_ANY, NULL);
        if (string && strcmp(json_string_value(string), value) == 0)
            *found = i;
    }
    return status;
}

static int add_member(struct ocv_buffer *text, const struct spans *members, const char *key,
                      const char *quoted, struct ocv_error *err)
{
    const char *nl = toml_newline(text->data, text->len);
    ocv_auto_buffer add;
    ocv_buffer_init(&add, SETUP_FILE_MAX);
    size_t open = skip_blank(text->data, 0), at, to;
    int status;
    if (members->n) { /* behind the last one, as the first one stands behind the brace */
        size_t first = members->list[0].from;
        at = to = members->list[members->n - 1].to;
        status = ocv_buffer_append(&add, ", ", first > open + 1 ? 1 : 2, err);
        if (status == OCV_OK)
            status = ocv_buffer_append(&add, text->data + open + 1, first - open - 1, err);
        if (status == OCV_OK)
            status = ocv_buffer_printf(&add, err, "\"%s\": [%s]", key, quoted);
    } else {
        at = open + 1;
        to = skip_blank(text->data, at);
        status = ocv_buffer_printf(&add, err, "%s  \"%s\": [%s]%s", nl, key, quoted, nl);
    }
    return status < 0 ? status : text_splice(text, at, to, add.data, add.len, err);
}

int setup_json_add(const char *source, struct ocv_buffer *text, const char *key, const char *value,
                   bool *made, struct ocv_error *err)
{
    static const char empty[] = "{}\n";
    struct spans spans = {.n = 0};
    size_t member = SPANS_MAX, open = 0, found = SPANS_MAX;
    ocv_auto_buffer quoted;
    ocv_buffer_init(&quoted, SETUP_FILE_MAX);
    int status = ocv_buffer_append(text, "", 0, err);
    *made = false;
    if (status == OCV_OK && text->data[skip_blank(text->data, 0)] == '\0' &&
        strlen(text->data) == text->len) /* dockerd takes an empty file, too */
        status = text_splice(text, 0, text->len, empty, strlen(empty), err);
    if (status == OCV_OK)
        status = quote_json(value, &quoted, err);
    if (status == OCV_OK)
        status = json_find(source, text, key, &spans, &member, &open, err);
    if (status < 0)
        return status;
    if (member == SPANS_MAX) {
        *made = true;
        return add_member(text, &spans, key, quoted.data, err);
    }
    status = json_element(source, text, open, value, &spans, &found, err);
    return status < 0 || found != SPANS_MAX ? status
                                            : insert_first(text, open, &spans, quoted.data, err);
}

int setup_json_remove(const char *source, struct ocv_buffer *text, const char *key,
                      const char *value, bool member_too, struct ocv_error *err)
{
    struct spans members = {.n = 0}, elements = {.n = 0};
    size_t member = SPANS_MAX, open = 0, found = SPANS_MAX;
    int status = json_find(source, text, key, &members, &member, &open, err);
    if (status < 0 || member == SPANS_MAX)
        return status;
    status = json_element(source, text, open, value, &elements, &found, err);
    if (status < 0 || found == SPANS_MAX)
        return status;
    if (elements.n == 1 && member_too)
        return remove_span(text, skip_blank(text->data, 0), &members, member, err);
    return remove_span(text, open, &elements, found, err);
}

/* ---- TOML -------------------------------------------------------------------------------------
 */

/* The array at table, key in the text that `toml` is of, its elements and which of them is `value`.
 */
static int toml_array(const char *source, const struct toml *toml, const char *path,
                      const char *value, struct spans *spans, const struct toml_item **item,
                      size_t *found, struct ocv_error *err)
{
    *found = SPANS_MAX;
    spans->n = 0;
    *item = toml_find(toml, path);
    if (!*item)
        return OCV_OK;
    if (!toml_is_strings(toml, *item))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: not a list of strings where one was "
                             "expected",
                             source);
    int status = toml_spans(source, toml, *item, spans, err);
    size_t at = 0, i = 0;
    char *one;
    while (status == OCV_OK && (one = toml_next_string(toml, *item, &at, NULL, NULL)) != NULL) {
        if (strcmp(one, value) == 0 && *found == SPANS_MAX)
            *found = i;
        free(one);
        i++;
    }
    return status;
}

static int add_item(const char *source, struct ocv_buffer *text, const struct toml *toml,
                    const char *path, const char *value, bool *made, struct ocv_error *err)
{
    struct spans spans = {.n = 0};
    const struct toml_item *item = NULL;
    size_t found = SPANS_MAX;
    ocv_auto_buffer quoted;
    ocv_buffer_init(&quoted, SETUP_FILE_MAX);
    int status = toml_array(source, toml, path, value, &spans, &item, &found, err);
    *made = !item;
    if (status < 0 || !item || found != SPANS_MAX)
        return status;
    status = toml_quote(&quoted, value, err);
    if (status == OCV_OK)
        status = insert_first(text, item->start, &spans, quoted.data, err);
    return status < 0 ? status : toml_check_others(source, toml, text, path, err);
}

/* A copy of the text read: places stay while the text changes. */
static int read_copy(const char *source, const struct ocv_buffer *text, const char *table,
                     const char *key, struct ocv_buffer *copy, struct toml *toml, char **path,
                     struct ocv_error *err)
{
    ocv_buffer_init(copy, text->max);
    int status = ocv_buffer_append(copy, text->data, text->len, err);
    if (status == OCV_OK)
        status = toml_scan(source, copy->data, copy->len, toml, err);
    if (status == OCV_OK && !(*path = toml_join(table, key, err)))
        status = OCV_ERR_NOMEM;
    return status;
}

int setup_toml_add_item(const char *source, struct ocv_buffer *text, const char *table,
                        const char *key, const char *value, bool *made, struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy, raw;
    char *path = NULL;
    ocv_buffer_init(&raw, SETUP_FILE_MAX);
    int status = read_copy(source, text, table, key, &copy, &toml, &path, err);
    *made = false;
    if (status == OCV_OK)
        status = add_item(source, text, &toml, path, value, made, err);
    free(path);
    if (status < 0 || !*made)
        return status;
    status = ocv_buffer_append(&raw, "[", 1, err);
    if (status == OCV_OK)
        status = toml_quote(&raw, value, err);
    if (status == OCV_OK)
        status = ocv_buffer_append(&raw, "]", 1, err);
    return status < 0 ? status : toml_set(source, text, table, key, raw.data, err);
}

int setup_toml_remove_item(const char *source, struct ocv_buffer *text, const char *table,
                           const char *key, const char *value, bool key_too, struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy;
    struct spans spans = {.n = 0};
    const struct toml_item *item = NULL;
    size_t found = SPANS_MAX;
    char *path = NULL;
    int status = read_copy(source, text, table, key, &copy, &toml, &path, err);
    if (status == OCV_OK)
        status = toml_array(source, &toml, path, value, &spans, &item, &found, err);
    if (status == OCV_OK && found != SPANS_MAX) {
        if (spans.n == 1 && key_too)
            status = toml_unset(source, text, table, key, true, err);
        else
            status = remove_span(text, item->start, &spans, found, err);
        if (status == OCV_OK)
            status = toml_check_others(source, &toml, text, path, err);
    }
    free(path);
    return status;
}
