/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON for people: what fits on a line is on one line. */
#include "lib/base/cleanup.h"
#include "lib/probe/result/result.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MAX_COLUMNS 100
#define INDENT 2

/* End of the line, with a comma unless it is the last one, and the indent of the next. */
static int next_line(struct ocv_buffer *out, bool comma, size_t indent, struct ocv_error *err)
{
    return ocv_buffer_printf(out, err, "%s\n%*s", comma ? "," : "", (int)indent, "");
}

struct line {
    char text[LINE_MAX_COLUMNS];
    size_t len, room;
    bool full;
};

/* Ends the dump where the line is full: what is long is dumped again, part by part. jansson goes on
 * after a key that was not taken. */
static int add_to_line(const char *bytes, size_t len, void *data)
{
    struct line *line = data;
    line->full = line->full || len > line->room - line->len;
    if (line->full)
        return -1;
    memcpy(line->text + line->len, bytes, len);
    line->len += len;
    return 0;
}

int ocv_pretty_append(const json_t *json, size_t indent, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    struct line line = {.room = indent < LINE_MAX_COLUMNS ? LINE_MAX_COLUMNS - indent : 0};
    if (json_dump_callback(json, add_to_line, &line, JSON_ENCODE_ANY) == 0 && !line.full)
        return ocv_buffer_append(out, line.text, line.len, err);
    bool object = json_is_object(json);
    if (!object && !json_is_array(json)) {
        ocv_auto_free char *text = json_dumps(json, JSON_ENCODE_ANY);
        return text ? ocv_buffer_append(out, text, strlen(text), err) : ocv_error_nomem(err);
    }
    const char *key;
    json_t *value;
    size_t n = 0;
    OCV_TRY(ocv_buffer_append(out, object ? "{" : "[", 1, err));
    json_object_foreach((json_t *)json, key, value)
    {
        OCV_TRY(next_line(out, n++ > 0, indent + INDENT, err));
        /* keys of a profile need no escapes: all are written here */
        OCV_TRY(ocv_buffer_printf(out, err, "\"%s\": ", key));
        OCV_TRY(ocv_pretty_append(value, indent + INDENT, out, err));
    }
    json_array_foreach(json, n, value)
    {
        OCV_TRY(next_line(out, n > 0, indent + INDENT, err));
        OCV_TRY(ocv_pretty_append(value, indent + INDENT, out, err));
    }
    OCV_TRY(next_line(out, false, indent, err));
    return ocv_buffer_append(out, object ? "}" : "]", 1, err);
}
