/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layers and the current work on them; at most ten redraws per second. */
#include "cmd/common/progress/progress.h"
#include "cmd/common/progress/progress_internal.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS (SECOND_NS / 10)
#define RATE_WINDOW_NS (SECOND_NS / 2) /* the rate is updated twice a second */
#define RATE_FIRST_NS (2 * SECOND_NS)  /* and shown once it covers this much time */
#define STALLED_NS (3 * SECOND_NS)

struct progress_display *progress_locked(const struct progress *progress)
{
    pthread_mutex_lock(&progress->display->lock);
    return progress->display;
}

int progress_new(enum progress_mode mode, FILE *stream, int64_t (*clock)(void),
                 struct progress **out, struct ocv_error *err)
{
    struct progress *progress = calloc(1, sizeof(*progress));
    struct progress_display *display = calloc(1, sizeof(*display));
    const char *term = getenv("TERM");
    pthread_mutexattr_t attributes;

    if (progress == NULL || display == NULL) {
        free(progress);
        free(display);
        return ocv_error_nomem(err);
    }
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&display->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (mode == PROGRESS_AUTO) {
        bool dumb = term == NULL || strcmp(term, "dumb") == 0;

        mode = isatty(fileno(stream)) && !dumb ? PROGRESS_BARS : PROGRESS_PLAIN;
    }
    display->mode = mode;
    display->stream = stream;
    display->clock = clock ? clock : ocv_clock_ns;
    display->first = progress;
    progress->display = display;
    *out = progress;
    return OCV_OK;
}

int progress_open(struct progress *progress, const char *image, struct progress **out,
                  struct ocv_error *err)
{
    struct progress *added = calloc(1, sizeof(*added));

    if (added == NULL)
        return ocv_error_nomem(err);
    PROGRESS_LOCK(progress);
    added->display = held;
    added->image = image;
    held->several = true;
    while (progress->next != NULL)
        progress = progress->next;
    progress->next = added;
    *out = added;
    return OCV_OK;
}

void progress_image(struct progress *progress, const char *image)
{
    PROGRESS_LOCK(progress);
    progress->image = image;
}

const char *progress_prefix(const struct progress *progress, char out[PROGRESS_LINE_MAX])
{
    bool named = progress->display->several && progress->image != NULL;

    snprintf(out, PROGRESS_LINE_MAX, "%s%s", named ? progress->image : "", named ? ": " : "");
    return out;
}

static void forget_layers(struct progress *progress)
{
    for (size_t i = 0; i < progress->n; i++)
        free(progress->layers[i].id);
    progress->n = 0;
}

/* The first one is freed last, with the display. */
void progress_free(struct progress *progress)
{
    if (progress == NULL)
        return;
    struct progress_display *display = progress_locked(progress);
    struct progress **at = &display->first;

    while (*at != progress)
        at = &(*at)->next;
    *at = progress->next;
    bool last = display->first == NULL;

    pthread_mutex_unlock(&display->lock);
    forget_layers(progress);
    free(progress->layers);
    free(progress);
    if (!last)
        return;
    pthread_mutex_destroy(&display->lock);
    free(display);
}

bool progress_is_json(const struct progress *progress)
{
    return progress->display->mode == PROGRESS_JSON;
}

void progress_color(struct progress *progress, bool on)
{
    progress->display->color = on;
}

bool progress_is_finished(const struct layer *layer)
{
    return layer->state == LAYER_DONE || layer->state == LAYER_CACHED;
}

struct layer_line progress_line(const struct layer *layer, int64_t now)
{
    bool moves = layer->state == LAYER_DOWNLOADING || layer->state == LAYER_UPLOADING;
    int64_t still = now - layer->changed_at;
    bool known = layer->data_at > 0 && now - layer->data_at >= RATE_FIRST_NS;

    return (struct layer_line){.id = layer->short_id,
                               .state = layer->state,
                               .done = layer->done,
                               .size = layer->size,
                               .rate = known ? layer->rate : 0,
                               .seconds = (now - layer->since) / SECOND_NS,
                               .stalled = moves && layer->done != layer->size && still >= STALLED_NS
                                              ? still / SECOND_NS
                                              : 0};
}

static void layer_event(struct progress *progress, const struct layer *layer)
{
    json_t *object =
        json_pack("{s:s, s:s, s:I}", "id", layer->id, "status", layer_state_name(layer->state),
                  "done", (json_int_t)(layer->done > 0 ? layer->done : 0));

    if (object != NULL && layer->size >= 0)
        json_object_set_new(object, "size", json_integer(layer->size));
    progress_event(progress, "progress", object);
}

static bool is_busy(const struct progress_display *display)
{
    for (const struct progress *at = display->first; at != NULL; at = at->next) {
        for (size_t i = 0; i < at->n; i++)
            if (!progress_is_finished(&at->layers[i]))
                return true;
        if (at->status[0])
            return true;
    }
    return false;
}

size_t progress_find(const struct progress *progress, const char *id)
{
    char short_id[16];

    PROGRESS_LOCK(progress);
    format_short_digest(id, short_id);
    for (size_t i = 0; i < progress->n; i++)
        if (strcmp(progress->layers[i].short_id, short_id) == 0)
            return i;
    return SIZE_MAX;
}

size_t progress_add(struct progress *progress, const char *id, int64_t size)
{
    PROGRESS_LOCK(progress);
    size_t i = progress_find(progress, id);
    struct layer *layer;

    if (i != SIZE_MAX)
        return i;
    layer = ocv_array_grow(&progress->layers, progress->n);
    if (layer == NULL || (layer->id = strdup(id)) == NULL)
        return SIZE_MAX;
    layer->size = size;
    format_short_digest(id, layer->short_id);
    layer->since = layer->changed_at = layer->rate_at = held->clock();
    if (!is_busy(held))
        held->last = layer->since;
    progress_event(progress, "layer", json_pack("{s:s, s:I}", "id", id, "size", (json_int_t)size));
    return progress->n++;
}

/* The rate over the last half second, smoothed so that "time left" does not jump. */
static void measure_speed(struct layer *layer, int64_t now)
{
    int64_t passed = now - layer->rate_at;

    if (passed < RATE_WINDOW_NS)
        return;
    double rate = (double)(layer->done - layer->rate_done) * 1e9 / (double)passed;

    rate = rate < 0 ? 0 : rate;
    layer->rate = layer->rate > 0 ? 0.7 * layer->rate + 0.3 * rate : rate;
    layer->rate_at = now;
    layer->rate_done = layer->done;
}

void progress_tick(void *data)
{
    struct progress *progress = data;
    PROGRESS_LOCK(progress);
    int64_t now = held->clock(), passed = now - held->last;

    if (progress->late[0] && now >= progress->late_at) {
        if (held->mode == PROGRESS_QUIET)
            fprintf(held->stream, "%s\n", progress->late);
        progress_message(progress, "%s", progress->late);
        progress_event(progress, "log", json_pack("{s:s}", "message", progress->late));
        progress_late_end(progress);
    }
    if (passed < (held->mode == PROGRESS_PLAIN ? PLAIN_NS : REDRAW_NS))
        return;
    held->last = now;
    for (struct progress *at = held->first; at != NULL; at = at->next) {
        for (size_t i = 0; i < at->n; i++) {
            struct layer *layer = &at->layers[i];
            if (progress_is_active(layer->state))
                measure_speed(layer, now);
            if (held->mode == PROGRESS_JSON && layer->dirty) {
                layer_event(at, layer);
                layer->dirty = false;
            }
        }
    }
    if (held->mode == PROGRESS_BARS)
        bars_draw(held);
    else if (held->mode == PROGRESS_PLAIN && is_busy(held))
        lines_total(held, now);
}

void progress_set(struct progress *progress, size_t i, enum layer_state state, int64_t done,
                  int64_t size)
{
    PROGRESS_LOCK(progress);
    if (i >= progress->n)
        return;
    struct layer *layer = &progress->layers[i];
    enum layer_state before = layer->state;

    layer->size = size >= 0 ? size : layer->size;
    int64_t now = held->clock();

    if (state != before) {
        /* the rate of other work does not apply to this one */
        layer->rate = 0;
        layer->rate_at = layer->since = layer->changed_at = now;
        layer->rate_done = done;
        layer->data_at = 0;
        layer->state = state;
    } else if (done != layer->done) {
        layer->changed_at = now;
        layer->data_at = layer->data_at ? layer->data_at : now;
    }
    bool ended = progress_is_finished(layer) || state == LAYER_DOWNLOADED;
    layer->done = ended && layer->size >= 0 ? layer->size : done;
    measure_speed(layer, now);
    layer->dirty = true;
    /* every change is an event; an end is also a line */
    if (state != before && held->mode == PROGRESS_PLAIN && ended &&
        !(before == LAYER_DOWNLOADED && state == LAYER_DONE)) {
        lines_finished(progress, layer);
        held->last = held->clock();
    }
    if (state != before && held->mode == PROGRESS_JSON) {
        layer_event(progress, layer);
        layer->dirty = false;
    }
    progress_tick(progress);
}

void progress_resumed(struct progress *progress, size_t i, int64_t done)
{
    char from[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX], whose[PROGRESS_LINE_MAX];

    PROGRESS_LOCK(progress);
    if (i >= progress->n)
        return;
    const struct layer *layer = &progress->layers[i];

    progress_message(progress, "%s%s: resuming at %s of %s", progress_prefix(progress, whose),
                     layer->short_id, format_bytes(done, from), format_bytes(layer->size, size));
    progress_event(progress, "resumed",
                   json_pack("{s:s, s:I, s:I}", "id", layer->id, "done", (json_int_t)done, "size",
                             (json_int_t)layer->size));
}

void progress_settle(struct progress *progress, enum layer_state state)
{
    PROGRESS_LOCK(progress);
    for (size_t i = 0; i < progress->n; i++)
        if (!progress_is_finished(&progress->layers[i]))
            progress_set(progress, i, state, progress->layers[i].done, -1);
}

void progress_finish(struct progress *progress)
{
    PROGRESS_LOCK(progress);
    progress->status[0] = progress->waiting[0] = '\0';
    bars_draw_last(progress);
    forget_layers(progress);
    bars_draw(held);
}

void progress_hold(struct progress *progress)
{
    bars_erase(progress_locked(progress));
    fflush(progress->display->stream);
}

void progress_release(struct progress *progress)
{
    bars_draw(progress->display);
    pthread_mutex_unlock(&progress->display->lock);
}

static void report_warning(void *data, const char *line)
{
    struct progress *progress = data;
    progress_warn(progress, progress->display->program, "%s", line);
}

void progress_attach(struct progress *progress, struct cli *cli)
{
    if (!progress->display->program) /* the first is attached before there are threads */
        progress->display->program = cli->program;
    cli->log = progress_log;
    cli->warn = report_warning;
    cli->wait = progress_wait;
    cli->tick = progress_tick;
    cli->callback_data = progress;
}

void progress_detach(struct cli *cli)
{
    cli->log = cli->warn = NULL;
    cli->wait = cli_report_retry;
    cli->tick = NULL;
    cli->callback_data = cli;
}
