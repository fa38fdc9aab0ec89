/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Strict JSON. jansson refuses invalid UTF-8, NUL in strings and more than 2,048 levels by itself.
 */
#include "lib/base/format/json.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of what is not plain. jansson 2.14 reports a failed allocation as a syntax error, or loses the
 * character that it was about to store and goes on. Feeding it byte by byte lets each failure be
 * seen in errno before jansson clears that. */
struct json_feed {
    const char *next, *end;
    bool nomem;
};

static size_t feed_byte(void *buffer, size_t len, void *data)
{
    struct json_feed *feed = data;
    feed->nomem = feed->nomem || errno == ENOMEM;
    if (len == 0 || feed->next == feed->end)
        return 0;
    *(char *)buffer = *feed->next++;
    return 1;
}

void ocv_json_drop_null(json_t *json)
{
    const char *key;
    json_t *value;
    void *next;
    size_t i;
    json_object_foreach_safe(json, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(json, key);
        else
            ocv_json_drop_null(value);
    }
    json_array_foreach(json, i, value)
    {
        ocv_json_drop_null(value);
    }
}

int ocv_json_load(const char *what, const void *bytes, size_t len, size_t max, json_t **out,
                  struct ocv_error *err)
{
    if (len > max)
        return ocv_error_set(err, OCV_ERR_DATA, "%s is larger than %zu bytes", what, max);
    const char *text = bytes ? bytes : "";
    bool nomem = false;
    ocv_auto_json *json = ocv_json_plain(text, bytes ? len : 0, &nomem);
    if (nomem)
        return ocv_error_nomem(err);
    if (!json) {
        struct json_feed feed = {text, text + (bytes ? len : 0), false};
        json_error_t e;
        errno = 0;
        json = json_load_callback(feed_byte, &feed, JSON_REJECT_DUPLICATES, &e);
        if (feed.nomem || errno == ENOMEM)
            return ocv_error_nomem(err);
        if (!json)
            return ocv_error_set(err, OCV_ERR_DATA, "%s is not valid JSON: line %d: %s", what,
                                 e.line, e.text);
        if (!json_is_object(json))
            return ocv_error_set(err, OCV_ERR_DATA, "%s is not a JSON object", what);
    }
    if (memmem(text, len, "null", 4))
        ocv_json_drop_null(json);
    *out = ocv_steal(&json);
    return OCV_OK;
}

/* Behind the string that begins at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    while ((at = memchr(at + 1, '"', (size_t)(end - at) - 1)) != NULL) {
        const char *slash = at;
        while (slash[-1] == '\\')
            slash--;
        if ((at - slash) % 2 == 0)
            return at + 1;
    }
    return end;
}

/* An upper bound of their number, before any memory is allocated for them. */
static size_t count_values(const char *text, size_t len)
{
    size_t n = 1;
    for (const char *at = text, *end = text + len; at < end;) {
        char c = *at;
        at = c == '"' ? skip_string(at, end) : at + 1;
        n += c == ',' || c == '[' ? 1 : c == '{' ? 3 : 0;
    }
    return n;
}

int ocv_json_load_counted(const char *what, const void *bytes, size_t len, size_t max,
                          size_t values, json_t **out, struct ocv_error *err)
{
    if (bytes && len <= max && count_values(bytes, len) > values)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has more than %zu values", what, values);
    return ocv_json_load(what, bytes, len, max, out, err);
}

json_t *ocv_json_load_any(const void *bytes, size_t len, size_t values, size_t flags,
                          json_error_t *where)
{
    const char *text = bytes ? bytes : "";
    if (count_values(text, bytes ? len : 0) <= values)
        return json_loadb(text, bytes ? len : 0, flags, where);
    if (where) {
        *where = (json_error_t){.line = 1};
        snprintf(where->text, sizeof(where->text), "more than %zu values", values);
    }
    return NULL;
}

struct dump {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status;
};

static int dump_bytes(const char *bytes, size_t len, void *data)
{
    struct dump *d = data;
    if (d->status == OCV_OK) /* jansson may go on after a failure and forget it */
        d->status = ocv_buffer_append(d->out, bytes, len, d->err);
    return d->status < 0 ? -1 : 0;
}

int ocv_json_append(const json_t *json, size_t flags, struct ocv_buffer *out, struct ocv_error *err)
{
    struct dump d = {out, err, OCV_OK};
    int failed = json_dump_callback(json, dump_bytes, &d, flags);
    if (d.status < 0)
        return d.status;
    return failed ? ocv_error_nomem(err) : OCV_OK;
}

int ocv_json_string(const json_t *object, const char *what, const char *key, const char **out,
                    struct ocv_error *err)
{
    const json_t *value = json_object_get(object, key);
    *out = NULL;
    if (!value)
        return OCV_OK;
    if (!json_is_string(value))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: '%s' is not a string", what, key);
    *out = json_string_value(value);
    return OCV_OK;
}
