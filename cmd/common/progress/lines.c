/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress without a terminal: a line when something ends, and a line with the total every few
 * seconds, so that the log of an hour shows that the pull is alive. */
#include "cmd/common/progress/progress_internal.h"

#include <string.h>

#define NO_BAR 44u       /* columns: too few for one */
#define WORKING_SHOWN 4u /* layers with a line of their own */

void lines_finished(struct progress *progress, const struct layer *layer)
{
    char size[FORMAT_NUMBER_MAX], whose[PROGRESS_LINE_MAX];

    fprintf(progress->display->stream, "%s%s: %s%s%s\n", progress_prefix(progress, whose),
            layer->short_id, layer_state_name(layer->state), layer->size >= 0 ? ", " : "",
            layer->size >= 0 ? format_bytes(layer->size, size) : "");
    fflush(progress->display->stream);
}

/* Totals of the layers being transferred. */
struct layer_totals {
    size_t finished, n; /* layers */
    int64_t done, size;
    double rate;
    int64_t stalled; /* the shortest stall; -1: no layer is being transferred */
    bool open;
};

static bool is_moving(const struct layer *layer)
{
    return layer->state == LAYER_DOWNLOADING || layer->state == LAYER_UPLOADING;
}

static void add_image(const struct progress *progress, int64_t now, struct layer_totals *total)
{
    total->n += progress->n;
    for (size_t i = 0; i < progress->n; i++) {
        const struct layer *layer = &progress->layers[i];
        struct layer_line line = progress_line(layer, now);

        total->finished += progress_is_finished(layer);
        if (layer->state == LAYER_CACHED || layer->size < 0)
            continue;
        bool all = !is_moving(layer) && layer->state != LAYER_WAITING;
        total->size += layer->size;
        total->done += all ? layer->size : line.done > 0 ? line.done : 0;
        total->open = total->open || !all;
        if (!is_moving(layer))
            continue;
        total->rate += line.rate;
        if (total->stalled < 0 || line.stalled < total->stalled)
            total->stalled = line.stalled;
    }
}

static struct layer_totals add_all(const struct progress_display *display, int64_t now)
{
    struct layer_totals total = {.stalled = -1};

    for (const struct progress *at = display->first; at != NULL; at = at->next)
        add_image(at, now, &total);
    return total;
}

/* "5 of 15 layers, 6.1 MB of 15.8 MB, 1.1 MB/s, 9s left"; `what` bits: 1 the sizes, 2 the rate */
static void format_total(const struct layer_totals *total, const char *layers, unsigned what,
                         char *out, size_t size)
{
    char done[FORMAT_NUMBER_MAX], all[FORMAT_NUMBER_MAX];
    char rate[FORMAT_NUMBER_MAX], left[FORMAT_NUMBER_MAX];
    const char *comma = *layers ? ", " : "";
    size_t n = (size_t)snprintf(out, size, "%s", layers);

    if (!total->open)
        return;
    if (what & 1)
        n += (size_t)snprintf(out + n, size - n, "%s%s of %s", comma,
                              format_bytes(total->done, done), format_bytes(total->size, all));
    if (total->stalled > 0) {
        snprintf(out + n, size - n, ", stalled %s", format_duration(total->stalled, left));
    } else if (total->rate >= 1) {
        if (what & 2)
            n += (size_t)snprintf(out + n, size - n, ", %s/s",
                                  format_bytes((int64_t)total->rate, rate));
        snprintf(out + n, size - n, ", %s left",
                 format_left(total->size - total->done, total->rate, left));
    }
}

void lines_sum(const struct progress *progress, bool all, int64_t now, unsigned width, char *out,
               size_t size)
{
    static const unsigned less[] = {3, 1, 0};
    struct layer_totals total = {.stalled = -1};
    char layers[64];

    if (all)
        total = add_all(progress->display, now);
    else
        add_image(progress, now, &total);
    snprintf(layers, sizeof(layers), "%zu of %zu layer%s", total.finished, total.n,
             total.n == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(less) / sizeof(*less); i++) {
        format_total(&total, layers, less[i], out, size);
        if (strlen(out) <= width)
            return;
    }
    snprintf(out, size, "%s", layers);
    if (strlen(out) > width) /* "5 of 15" fits wherever a line does */
        *strrchr(out, ' ') = '\0';
}

void lines_total(struct progress_display *display, int64_t now)
{
    struct layer_totals total = add_all(display, now);
    char text[PROGRESS_LINE_MAX], whose[PROGRESS_LINE_MAX];
    unsigned shown = 0;

    if (total.open) {
        format_total(&total, "", 3, text, sizeof(text));
        fprintf(display->stream, "%s\n", text);
    }
    /* layers at work whose progress the total does not show */
    for (const struct progress *at = display->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->n && shown < WORKING_SHOWN; i++) {
            const struct layer *layer = &at->layers[i];
            struct layer_line line = progress_line(layer, now);

            if (!progress_is_active(layer->state) || (is_moving(layer) && layer->size >= 0))
                continue;
            format_layer_line(&line, NO_BAR, text, sizeof(text));
            fprintf(display->stream, "%s%s\n", progress_prefix(at, whose), text);
            shown++;
        }
    for (const struct progress *at = display->first; at != NULL; at = at->next) {
        if (!at->status[0])
            continue;
        progress_status_text(at, now, text, sizeof(text));
        fprintf(display->stream, "%s\n", text);
    }
    fflush(display->stream);
}
