/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything printed besides the layers: lines, events, the current step and waits. */
#include "cmd/common/cli.h"
#include "cmd/common/progress/progress_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TIME_FIRST_NS (2 * SECOND_NS) /* elapsed time is shown from here on */

void progress_message(struct progress *progress, const char *format, ...)
{
    va_list args;

    if (progress->display->mode != PROGRESS_BARS && progress->display->mode != PROGRESS_PLAIN)
        return;
    PROGRESS_LOCK(progress);
    bars_erase(held);
    va_start(args, format);
    vfprintf(held->stream, format, args);
    va_end(args);
    fputc('\n', held->stream);
    bars_draw(held);
    fflush(held->stream);
}

void progress_event(struct progress *progress, const char *event, json_t *object)
{
    json_t *line;
    char *text;

    if (object == NULL)
        return;
    PROGRESS_LOCK(progress);
    if (progress->display->mode == PROGRESS_JSON &&
        (line = json_pack("{s:s}", "event", event)) != NULL) {
        json_object_update(line, object);
        if (progress->image != NULL && json_object_get(line, "image") == NULL)
            json_object_set_new(line, "image", json_string(progress->image));
        text = json_dumps(line, JSON_COMPACT);
        if (text != NULL) {
            fprintf(held->stream, "%s\n", text);
            fflush(held->stream);
        }
        free(text);
        json_decref(line);
    }
    json_decref(object);
}

void progress_warn(struct progress *progress, const char *program, const char *format, ...)
{
    char text[2 * OCV_ERROR_MESSAGE_MAX];
    va_list args;

    const char *on = progress->display->color ? COLOR_YELLOW : "",
               *off = progress->display->color ? COLOR_END : "";

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    PROGRESS_LOCK(progress);
    if (held->mode == PROGRESS_QUIET)
        fprintf(held->stream, "%s: %swarning:%s %s\n", program, on, off, text);
    progress_message(progress, "%s: %swarning:%s %s", program, on, off, text);
    progress_event(progress, "warning", json_pack("{s:s}", "message", text));
}

void progress_log(void *data, const char *line)
{
    struct progress *progress = data;
    const char *program = progress->display->program;
    PROGRESS_LOCK(progress);
    if (held->mode == PROGRESS_QUIET)
        fprintf(held->stream, "%s: %s\n", program, line);
    progress_message(progress, "%s: %s", program, line);
    progress_event(progress, "log", json_pack("{s:s}", "message", line));
}

/* Where several are pulled, the line names its image. */
void progress_status(struct progress *progress, const char *event, const char *image,
                     const char *format, ...)
{
    char text[PROGRESS_LINE_MAX], whose[PROGRESS_LINE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    PROGRESS_LOCK(progress);
    progress_prefix(progress, whose);
    if (strncmp(text, whose, strlen(whose)) == 0)
        whose[0] = '\0';
    snprintf(progress->status, sizeof(progress->status), "%.*s%.*s", (int)strlen(whose), whose,
             (int)(sizeof(progress->status) - 1 - strlen(whose)), text);
    progress->status_since = held->last = held->clock();
    progress->waiting[0] = '\0';
    if (held->mode == PROGRESS_PLAIN)
        fprintf(held->stream, "%s\n", progress->status);
    bars_draw(held);
    progress_event(progress, event, json_pack("{s:s, s:s}", "image", image, "message", text));
    if (held->mode != PROGRESS_QUIET)
        fflush(held->stream);
}

void progress_late(struct progress *progress, unsigned ms, const char *format, ...)
{
    va_list args;

    PROGRESS_LOCK(progress);
    va_start(args, format);
    vsnprintf(progress->late, sizeof(progress->late), format, args);
    va_end(args);
    progress->late_at = held->clock() + ms * (SECOND_NS / 1000);
}

void progress_late_end(struct progress *progress)
{
    PROGRESS_LOCK(progress);
    progress->late[0] = '\0';
}

void progress_status_end(struct progress *progress)
{
    PROGRESS_LOCK(progress);
    bars_erase(held);
    progress->status[0] = progress->waiting[0] = '\0';
    bars_draw(held);
}

void progress_status_text(const struct progress *progress, int64_t now, char *out, size_t size)
{
    char time[FORMAT_NUMBER_MAX];
    int64_t waited = progress->waiting[0] ? now - progress->waiting_since : 0;
    int64_t passed = now - progress->status_since;

    if (waited >= TIME_FIRST_NS)
        snprintf(out, size, "%s: waiting for %s for %s%s", progress->status, progress->waiting,
                 format_duration(waited / SECOND_NS, time), progress->try);
    else if (passed >= TIME_FIRST_NS)
        snprintf(out, size, "%s: %s", progress->status, format_duration(passed / SECOND_NS, time));
    else
        snprintf(out, size, "%s", progress->status);
}

void progress_wait(void *data, const struct ocv_registry_wait *wait)
{
    struct progress *progress = data;
    PROGRESS_LOCK(progress);
    int64_t now = held->clock();
    char when[CLI_RETRY_MAX];

    progress->waiting[0] = '\0';
    if (wait->trouble) {
        progress_message(progress, "%s %s, trying again%s", wait->host, wait->trouble,
                         cli_retry_when(wait, when));
        progress_event(progress, "retry",
                       json_pack("{s:s, s:s, s:s, s:i, s:i}", "host", wait->host, "what",
                                 wait->what, "reason", wait->trouble, "attempt", (int)wait->attempt,
                                 "attempts", (int)wait->attempts));
    } else if (wait->host) {
        snprintf(progress->waiting, sizeof(progress->waiting), "%s", wait->host);
        snprintf(progress->try, sizeof(progress->try), " (try %u of %u)", wait->attempt,
                 wait->attempts);
        progress->waiting_since = now - wait->ms * (SECOND_NS / 1000);
        /* rate-limited: nobody reads a stream of these */
        if (held->mode == PROGRESS_JSON && wait->ms * (SECOND_NS / 1000) >= PLAIN_NS &&
            now - progress->waiting_told >= PLAIN_NS) {
            progress->waiting_told = now;
            progress_event(progress, "waiting",
                           json_pack("{s:s, s:s, s:I, s:i, s:i}", "host", wait->host, "what",
                                     wait->what, "seconds", (json_int_t)(wait->ms / 1000),
                                     "attempt", (int)wait->attempt, "attempts",
                                     (int)wait->attempts));
        }
    }
    progress_tick(progress);
}
