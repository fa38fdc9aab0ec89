/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds a string to an array of strings, or removes it, keeping all other bytes. JSON and TOML use
 * the same brackets and separators. */
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"

#include <string.h>

size_t array_skip_blank(const char *text, size_t at)
{
    return at + strspn(text + at, " \t\r\n"); /* the text ends with NUL */
}

int array_insert_first(struct ocv_buffer *text, size_t open, const struct array_spans *spans,
                       const char *quoted, struct ocv_error *err)
{
    ocv_auto_buffer add;
    ocv_buffer_init(&add, SETUP_FILE_MAX);
    size_t first = spans->n ? spans->list[0].from : open + 1;
    bool lines = memchr(text->data + open, '\n', first - open) != NULL;
    OCV_TRY(ocv_buffer_printf(&add, err, "%s%s", quoted, spans->n ? "," : ""));
    if (spans->n && !lines)
        OCV_TRY(ocv_buffer_append(&add, " ", 1, err));
    if (spans->n && lines) {
        size_t line = first; /* line end and indentation before the first element */
        while (strchr(" \t\r\n", text->data[line - 1]))
            line--;
        OCV_TRY(ocv_buffer_append(&add, text->data + line, first - line, err));
    }
    return text_splice(text, first, first, add.data, add.len, err);
}

int array_remove(struct ocv_buffer *text, size_t open, const struct array_spans *spans, size_t i,
                 struct ocv_error *err)
{
    size_t from = spans->list[i].from, to = spans->list[i].to;
    if (i + 1 < spans->n) {
        to = spans->list[i + 1].from;
    } else if (i > 0) {
        from = spans->list[i - 1].to;
    } else { /* the only element: also remove what is around it */
        from = open + 1;
        size_t at = array_skip_blank(text->data, to);
        to = text->data[at] == ']' || text->data[at] == '}' ? at : to;
    }
    return text_splice(text, from, to, NULL, 0, err);
}
