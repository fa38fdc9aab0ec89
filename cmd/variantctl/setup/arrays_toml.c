/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of strings in TOML; the text is parsed again after each edit. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The array at table and key in the text of `toml`: its elements, and the one equal to `value`. */
static int toml_array(const char *source, const struct toml *toml, const char *path,
                      const char *value, struct array_spans *spans, const struct toml_item **item,
                      size_t *found, struct ocv_error *err)
{
    *found = ARRAY_SPANS_MAX;
    spans->n = 0;
    *item = toml_find(toml, path);
    if (!*item)
        return OCV_OK;
    if (!toml_is_strings(toml, *item))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: not a list of strings where one was "
                             "expected",
                             source);
    size_t at = 0, from, to;
    for (;;) {
        ocv_auto_free char *one = toml_next_string(toml, *item, &at, &from, &to);
        if (!one)
            return OCV_OK;
        if (spans->n == ARRAY_SPANS_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u members", source,
                                 ARRAY_SPANS_MAX);
        if (strcmp(one, value) == 0 && *found == ARRAY_SPANS_MAX)
            *found = spans->n;
        spans->list[spans->n++] = (struct array_span){from, to};
    }
}

int setup_toml_remove_item(const char *source, struct ocv_buffer *text, const char *table,
                           const char *key, const char *value, bool key_too, bool table_too,
                           struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy;
    struct array_spans spans = {.n = 0};
    const struct toml_item *item = NULL;
    size_t found = ARRAY_SPANS_MAX;
    ocv_auto_free char *path = NULL;
    OCV_TRY(toml_scan_copy(source, text, table, key, &copy, &toml, &path, err));
    OCV_TRY(toml_array(source, &toml, path, value, &spans, &item, &found, err));
    if (found != ARRAY_SPANS_MAX) {
        if (spans.n == 1 && key_too)
            OCV_TRY(toml_unset(source, text, table, key, table_too, err));
        else
            OCV_TRY(array_remove(text, item->start, &spans, found, err));
        OCV_TRY(toml_check_others(source, &toml, text, path, err));
    }
    return OCV_OK;
}
