/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/span.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

struct ocv_span ocv_span_trim(struct ocv_span s)
{
    while (s.len && is_space(s.data[0])) {
        s.data++;
        s.len--;
    }
    while (s.len && is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

bool ocv_span_split(struct ocv_span *rest, char separator, struct ocv_span *piece)
{
    if (!rest->data)
        return false;
    const char *end = rest->len ? memchr(rest->data, separator, rest->len) : NULL;
    piece->data = rest->data;
    piece->len = end ? (size_t)(end - rest->data) : rest->len;
    if (end) {
        rest->len -= piece->len + 1;
        rest->data = end + 1;
    } else {
        *rest = (struct ocv_span){NULL, 0};
    }
    *piece = ocv_span_trim(*piece);
    return true;
}

size_t ocv_span_parts(struct ocv_span text, struct ocv_span *parts, size_t max)
{
    size_t n = 0;
    for (;;) {
        const char *sep = text.len ? memmem(text.data, text.len, "::", 2) : NULL;
        struct ocv_span part = {text.data, sep ? (size_t)(sep - text.data) : text.len};
        if (n == max)
            return max + 1;
        parts[n++] = ocv_span_trim(part);
        if (!sep)
            return n;
        text.len -= part.len + 2;
        text.data = sep + 2;
    }
}
