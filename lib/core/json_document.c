/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/core/json_document.h"

#include <string.h>

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

int ocv_json_load_document(const char *what, const void *bytes, size_t len, json_t **out,
                           struct ocv_error *err)
{
    const char *text = bytes ? bytes : "";
    if (bytes && len <= OCV_MANIFEST_MAX && count_values(text, len) > OCV_JSON_VALUES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has more than %u values", what,
                             OCV_JSON_VALUES_MAX);
    return ocv_json_load(what, bytes, len, OCV_MANIFEST_MAX, out, err);
}

int ocv_json_descriptor(const json_t *object, const char *what, const char **media_type,
                        const char **digest, int64_t *size, struct ocv_error *err)
{
    if (!json_is_object(object))
        return ocv_error_set(err, OCV_ERR_DATA, "%s is not an object", what);
    int status = ocv_json_string(object, what, "mediaType", media_type, err);
    if (status == OCV_OK)
        status = ocv_json_string(object, what, "digest", digest, err);
    if (status < 0)
        return status;
    if (!*media_type)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has no mediaType", what);
    if (!*digest || !ocv_digest_wellformed(*digest) || strlen(*digest) >= OCV_DIGEST_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: malformed digest '%.100s'", what,
                             *digest ? *digest : "");
    const json_t *number = json_object_get(object, "size");
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: size is missing or not a whole number >= 0",
                             what);
    *size = json_integer_value(number);
    return OCV_OK;
}
