/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/progress/progress_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *format_bytes(int64_t bytes, char out[FORMAT_NUMBER_MAX])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;

    if (bytes < 0) {
        snprintf(out, FORMAT_NUMBER_MAX, "?");
        return out;
    }
    if (bytes < 1000) {
        snprintf(out, FORMAT_NUMBER_MAX, "%" PRId64 " B", bytes);
        return out;
    }
    /* 999.5 and more would round to "1000" in this unit */
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(out, FORMAT_NUMBER_MAX, "%.*f %s", decimals, value, units[unit]);
    return out;
}

const char *format_duration(int64_t seconds, char out[FORMAT_NUMBER_MAX])
{
    const int64_t minute = 60, hour = 3600, day = 86400;

    if (seconds < 0)
        snprintf(out, FORMAT_NUMBER_MAX, "?");
    else if (seconds < minute)
        snprintf(out, FORMAT_NUMBER_MAX, "%" PRId64 "s", seconds);
    else if (seconds < hour)
        snprintf(out, FORMAT_NUMBER_MAX, "%" PRId64 "m%02" PRId64 "s", seconds / minute,
                 seconds % minute);
    else if (seconds < day)
        snprintf(out, FORMAT_NUMBER_MAX, "%" PRId64 "h%02" PRId64 "m", seconds / hour,
                 seconds % hour / minute);
    else
        snprintf(out, FORMAT_NUMBER_MAX, "%" PRId64 "d%02" PRId64 "h", seconds / day,
                 seconds % day / hour);
    return out;
}

const char *format_left(int64_t bytes, double rate, char out[FORMAT_NUMBER_MAX])
{
    double seconds = rate > 0 ? (double)bytes / rate : 1e9;

    return format_duration(seconds < 1e9 ? (int64_t)(seconds + 0.5) : -1, out);
}

const char *format_short_digest(const char *digest, char out[16])
{
    const char *colon = strchr(digest, ':');

    snprintf(out, 16, "%.12s", colon ? colon + 1 : digest);
    return out;
}

const char *layer_state_name(enum layer_state state)
{
    static const char *const names[] = {[LAYER_WAITING] = "waiting",
                                        [LAYER_DOWNLOADING] = "downloading",
                                        [LAYER_DOWNLOADED] = "downloaded",
                                        [LAYER_EXTRACTING] = "extracting",
                                        [LAYER_LOADING] = "loading",
                                        [LAYER_UPLOADING] = "uploading",
                                        [LAYER_DONE] = "done",
                                        [LAYER_CACHED] = "already here"};
    return (size_t)state < sizeof(names) / sizeof(*names) ? names[state] : "?";
}

bool progress_is_active(enum layer_state state)
{
    return state == LAYER_DOWNLOADING || state == LAYER_EXTRACTING || state == LAYER_LOADING ||
           state == LAYER_UPLOADING;
}

/* "12.3 MB/27.1 MB  4.10 MB/s  3s left", as far as known; without the rate, then without the sizes,
 * where `width` is too small for them: no word is cut */
static void format_amount(const struct layer_line *line, size_t width, char *out, size_t size)
{
    char done[FORMAT_NUMBER_MAX], total[FORMAT_NUMBER_MAX], rate[FORMAT_NUMBER_MAX];
    char time[FORMAT_NUMBER_MAX];
    bool sized = line->size >= 0;

    format_bytes(line->done, done);
    format_bytes(line->size, total);
    if (!progress_is_active(line->state)) {
        snprintf(out, size, "%s", sized ? total : "");
    } else if (line->done < 0) {
        snprintf(out, size, "%s", format_duration(line->seconds, time));
    } else if (line->stalled > 0) {
        format_duration(line->stalled, time);
        snprintf(out, size, "%s%s%s  stalled %s", done, sized ? "/" : "", sized ? total : "", time);
        if (strlen(out) > width)
            snprintf(out, size, "stalled %s", time);
    } else if (!sized) {
        snprintf(out, size, "%s", done);
    } else if (line->rate < 1) {
        snprintf(out, size, "%s/%s", done, total);
    } else {
        format_left(line->size - line->done, line->rate, time);
        snprintf(out, size, "%s/%s  %s/s  %s left", done, total,
                 format_bytes((int64_t)line->rate, rate), time);
        if (strlen(out) > width)
            snprintf(out, size, "%s/%s  %s left", done, total, time);
        if (strlen(out) > width)
            snprintf(out, size, "%s left", time);
    }
    if (strlen(out) > width && progress_is_active(line->state) && line->size > 0)
        snprintf(out, size, "%d%%", (int)(100.0 * (double)line->done / (double)line->size));
    if (strlen(out) > width)
        *out = '\0';
}

void format_layer_line(const struct layer_line *line, unsigned width, char *out, size_t size)
{
    char head[48], amount[112], bar[80] = "";
    size_t used;

    snprintf(head, sizeof(head), "%.12s: %-12s", line->id, layer_state_name(line->state));
    format_amount(line, width > strlen(head) + 1 ? width - strlen(head) - 1 : 0, amount,
                  sizeof(amount));
    /* "[", "]", " 45%" and two spaces take 10 columns; a bar of fewer than 8 cells shows too
     * little */
    used = strlen(head) + strlen(amount) + 10;
    if (progress_is_active(line->state) && line->size >= 0 && line->done >= 0 &&
        width >= used + 8) {
        /* "[=====>    ]  45%" with `cells` cells between the brackets */
        unsigned cells = width - used > 40 ? 40 : width - (unsigned)used;
        double part = line->size > 0 ? (double)line->done / (double)line->size : 1;
        size_t at = 0;

        part = part < 0 ? 0 : part > 1 ? 1 : part;
        unsigned full = (unsigned)(part * cells);
        bar[at++] = '[';
        for (unsigned i = 0; i < cells; i++)
            bar[at++] = i < full ? '=' : i == full ? '>' : ' ';
        /* 100% only when every byte is there */
        snprintf(bar + at, sizeof(bar) - at, "] %3u%%", (unsigned)(part * 100));
    }
    snprintf(out, size, "%s %s%s%s", head, bar, bar[0] ? "  " : "", amount);
    if (strlen(out) > width && width < size)
        out[width] = '\0';
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
}
