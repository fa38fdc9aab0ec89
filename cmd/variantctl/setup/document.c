/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON objects: daemon.json and the state. */
#include "cmd/variantctl/setup/document.h"

#include "lib/base/format/json.h"

#include <string.h>

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

int setup_json_dump(const json_t *json, size_t flags, struct ocv_buffer *out, struct ocv_error *err)
{
    char *text = json_dumps(json, flags);
    if (!text)
        return ocv_error_nomem(err);
    int status = ocv_buffer_append(out, text, strlen(text), err);
    free(text);
    return status;
}
