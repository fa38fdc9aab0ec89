/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of strings in TOML; the text is parsed again after each edit. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

int setup_toml_remove_item(const char *source, struct ocv_buffer *text, const char *table,
                           const char *key, const char *value, bool key_too, bool table_too,
                           struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer copy;
    struct array_spans spans = {.n = 0};
    size_t found = ARRAY_SPANS_MAX, at = 0, from, to;
    ocv_auto_free char *path = NULL;
    OCV_TRY(toml_scan_copy(source, text, table, key, &copy, &toml, &path, err));
    const struct toml_item *item = toml_find(&toml, path);
    if (!item)
        return OCV_OK;
    if (!toml_is_strings(&toml, item))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: not a list of strings where one was "
                             "expected",
                             source);
    for (;;) {
        ocv_auto_free char *one = toml_next_string(&toml, item, &at, &from, &to);
        if (!one)
            break;
        if (spans.n == ARRAY_SPANS_MAX)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u members", source,
                                 ARRAY_SPANS_MAX);
        if (strcmp(one, value) == 0 && found == ARRAY_SPANS_MAX)
            found = spans.n;
        spans.list[spans.n++] = (struct array_span){from, to};
    }
    if (found == ARRAY_SPANS_MAX)
        return OCV_OK;
    OCV_TRY(spans.n == 1 && key_too ? toml_unset(source, text, table, key, table_too, err)
                                    : array_remove(text, item->start, &spans, found, err));
    return toml_check_others(source, &toml, text, path, err);
}
