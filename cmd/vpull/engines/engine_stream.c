/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/format/json.h"

#include <stdio.h>
#include <string.h>

int engine_lines_flush(struct engine_lines *lines)
{
    lines->text[lines->len] = '\0';
    size_t n = lines->len;
    lines->len = 0;
    return n ? lines->line(lines->data, lines->text) : 0;
}

int engine_lines_take(struct engine_lines *lines, const char *bytes, size_t len)
{
    int status = 0;
    for (size_t i = 0; i < len && status == 0; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r')
            status = engine_lines_flush(lines);
        else if (lines->len < ENGINE_LINE_MAX - 1)
            lines->text[lines->len++] = bytes[i];
    }
    return status;
}

static int64_t bytes_of(const json_t *number)
{
    json_int_t value = json_is_integer(number) ? json_integer_value(number) : -1;
    return value < 0 || value > ENGINE_BYTES_MAX ? -1 : value;
}

void docker_line_parse(const char *text, struct docker_line *out)
{
    static const struct {
        const char *text;
        enum layer_state state;
    } states[] = {{"Downloading", LAYER_DOWNLOADING},
                  {"Extracting", LAYER_EXTRACTING},
                  {"Pull complete", LAYER_DONE},
                  {"Already exists", LAYER_CACHED},
                  {"Verifying Checksum", LAYER_DOWNLOADED},
                  {"Download complete", LAYER_DOWNLOADED},
                  {"Loading layer", LAYER_LOADING}};
    *out = (struct docker_line){.done = -1, .total = -1};
    ocv_auto_json *line = ocv_json_load_any(text, strlen(text), OCV_JSON_VALUES_MAX, 0, NULL);
    const char *status = ocv_json_text(line, "status");
    const char *id = ocv_json_text(line, "id");
    const char *error = ocv_json_text(line, "error");
    if (error)
        snprintf(out->failure, sizeof(out->failure), "%s", error);
    if (!status || !id || strlen(id) != 12 || strspn(id, "0123456789abcdef") != 12) /* no layer */
        return;
    const json_t *detail = json_object_get(line, "progressDetail");
    const json_t *current = json_object_get(detail, "current");
    snprintf(out->id, sizeof(out->id), "%s", id);
    out->state = LAYER_WAITING;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (!strcmp(status, states[i].text))
            out->state = states[i].state;
    out->total = bytes_of(json_object_get(detail, "total"));
    /* engines with containerd's store report the seconds of an extraction instead */
    out->done = json_object_get(detail, "units") ? -1 : current ? bytes_of(current) : 0;
}
