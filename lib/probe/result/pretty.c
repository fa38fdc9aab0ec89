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

int ocv_pretty_append(const json_t *json, size_t indent, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    char line[LINE_MAX_COLUMNS];
    size_t len = json_dumpb(json, line, sizeof(line), JSON_ENCODE_ANY);
    if (len > 0 && len <= sizeof(line) && len + indent <= LINE_MAX_COLUMNS)
        return ocv_buffer_append(out, line, len, err);
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
