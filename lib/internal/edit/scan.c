/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where values are in a text that is known to be valid JSON. */
#include "lib/internal/edit/edit_internal.h"

#include <string.h>

size_t ocv_edit_scan_blanks(const char *text, const char *end)
{
    const char *p = text;
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return (size_t)(p - text);
}

static size_t scan_string(const char *text, const char *end)
{
    const char *p = text + 1;
    while (p < end && *p != '"')
        p += *p == '\\' ? 2 : 1;
    return p < end ? (size_t)(p - text) + 1 : (size_t)(end - text);
}

size_t ocv_edit_scan_value(const char *text, const char *end)
{
    const char *p = text;
    size_t depth = 0;
    while (p < end) {
        if (*p == '"') {
            p += scan_string(p, end);
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            if (depth == 0)
                break; /* the end of what holds a bare word or number */
            depth--;
            p++;
        } else if (depth == 0 && (*p == ',' || ocv_edit_scan_blanks(p, end))) {
            break;
        } else {
            p++;
            if (depth == 0)
                continue; /* a word or number */
        }
        if (depth == 0)
            break;
    }
    return (size_t)(p - text);
}
