/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress without a terminal: a line when something ends, and a line with the total every few
 * seconds, so that the log of an hour shows that the pull is alive. */
#include "cmd/common/progress/progress_internal.h"

#include <string.h>

#define NO_BAR 44u       /* columns: too few for one */
#define WORKING_SHOWN 4u /* layers with a line of their own */

void lines_finished(struct progress *progress, const struct layer *layer)
{
    char size[FORMAT_NUMBER_MAX];

    fprintf(progress->stream, "%s: %s%s%s\n", layer->short_id, layer_state_name(layer->state),
            layer->size >= 0 ? ", " : "", layer->size >= 0 ? format_bytes(layer->size, size) : "");
    fflush(progress->stream);
}

/* Totals of the layers being transferred. */
struct layer_totals {
    int64_t done, size;
    double rate;
    int64_t stalled; /* the shortest stall; -1: no layer is being transferred */
    bool open;
};

static bool is_moving(const struct layer *layer)
{
    return layer->state == LAYER_DOWNLOADING || layer->state == LAYER_UPLOADING;
}

static struct layer_totals add_up(const struct progress *progress, int64_t now)
{
    struct layer_totals total = {.stalled = -1};

    for (size_t i = 0; i < progress->n; i++) {
        const struct layer *layer = &progress->layers[i];
        struct layer_line line = progress_line(layer, now);

        if (layer->state == LAYER_CACHED || layer->size < 0)
            continue;
        bool all = !is_moving(layer) && layer->state != LAYER_WAITING;
        total.size += layer->size;
        total.done += all ? layer->size : line.done > 0 ? line.done : 0;
        total.open = total.open || !all;
        if (!is_moving(layer))
            continue;
        total.rate += line.rate;
        if (total.stalled < 0 || line.stalled < total.stalled)
            total.stalled = line.stalled;
    }
    return total;
}

static void total_line(struct progress *progress, const struct layer_totals *total)
{
    char done[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];
    char rate[FORMAT_NUMBER_MAX], left[FORMAT_NUMBER_MAX];

    fprintf(progress->stream, "%s of %s", format_bytes(total->done, done),
            format_bytes(total->size, size));
    if (total->stalled > 0)
        fprintf(progress->stream, ", stalled %s", format_duration(total->stalled, left));
    else if (total->rate >= 1)
        fprintf(progress->stream, ", %s/s, %s left", format_bytes((int64_t)total->rate, rate),
                format_left(total->size - total->done, total->rate, left));
    fputc('\n', progress->stream);
}

void lines_total(struct progress *progress, int64_t now)
{
    struct layer_totals total = add_up(progress, now);
    char text[PROGRESS_LINE_MAX];
    unsigned shown = 0;

    if (total.open)
        total_line(progress, &total);
    for (size_t i = 0; i < progress->n && shown < WORKING_SHOWN; i++) {
        const struct layer *layer = &progress->layers[i];
        struct layer_line line = progress_line(layer, now);

        if (!progress_is_active(layer) || (is_moving(layer) && layer->size >= 0))
            continue;
        format_layer_line(&line, NO_BAR, text, sizeof(text));
        fprintf(progress->stream, "%s\n", text);
        shown++;
    }
    if (progress->status[0]) {
        progress_status_text(progress, now, text, sizeof(text));
        fprintf(progress->stream, "%s\n", text);
    }
    fflush(progress->stream);
}
