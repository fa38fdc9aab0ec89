/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One redraw of bars at most every 100 ms; the drawn block never exceeds the terminal's height, so
 * that moving the cursor up always reaches its first line. */
#include "cmd/common/progress.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_NS 100000000LL      /* 10 a second */
#define PLAIN_NS 10000000000LL     /* a line of the whole every 10 s without a terminal */
#define RATE_WINDOW_NS 500000000LL /* the rate is renewed twice a second */
#define LINE_MAX_BYTES 512

struct layer {
    char *id;
    char short_id[16];
    enum layer_state state;
    int64_t done, size;
    double rate;
    int64_t rate_at, rate_done; /* where the rate was last taken */
    bool dirty;                 /* JSON: changed since the last event */
};

struct progress {
    enum progress_mode mode;
    FILE *stream;
    int64_t (*clock)(void);
    struct layer *layers;
    size_t n;
    unsigned drawn; /* lines of the block on the screen */
    int64_t last;   /* time of the last redraw or line */
    int64_t begun;  /* time of the first layer */
};

int progress_new(enum progress_mode mode, FILE *stream, int64_t (*clock)(void),
                 struct progress **out, struct ocv_error *err)
{
    struct progress *progress = calloc(1, sizeof(*progress));
    const char *term = getenv("TERM");

    if (progress == NULL)
        return ocv_error_nomem(err);
    if (mode == PROGRESS_AUTO) {
        bool dumb = term == NULL || strcmp(term, "dumb") == 0;

        mode = isatty(fileno(stream)) && !dumb ? PROGRESS_BARS : PROGRESS_PLAIN;
    }
    progress->mode = mode;
    progress->stream = stream;
    progress->clock = clock ? clock : ocv_clock_ns;
    *out = progress;
    return OCV_OK;
}

static void forget_layers(struct progress *progress)
{
    for (size_t i = 0; i < progress->n; i++)
        free(progress->layers[i].id);
    progress->n = 0;
}

void progress_free(struct progress *progress)
{
    if (progress == NULL)
        return;
    forget_layers(progress);
    free(progress->layers);
    free(progress);
}

static bool is_text(const struct progress *progress)
{
    return progress->mode == PROGRESS_BARS || progress->mode == PROGRESS_PLAIN;
}

bool progress_is_json(const struct progress *progress)
{
    return progress->mode == PROGRESS_JSON;
}

/* ---- bars ------------------------------------------------------------------------------------ */

static void terminal_size(const struct progress *progress, unsigned *rows, unsigned *columns)
{
    struct winsize size;

    *rows = 24;
    *columns = 80;
    if (ioctl(fileno(progress->stream), TIOCGWINSZ, &size) == 0) {
        *rows = size.ws_row > 0 ? size.ws_row : *rows;
        *columns = size.ws_col > 0 ? size.ws_col : *columns;
    }
}

static bool is_active(const struct layer *layer)
{
    return layer->state == LAYER_DOWNLOADING || layer->state == LAYER_EXTRACTING ||
           layer->state == LAYER_LOADING || layer->state == LAYER_UPLOADING;
}

static bool is_finished(const struct layer *layer)
{
    return layer->state == LAYER_DONE || layer->state == LAYER_CACHED;
}

static void draw_layer(struct progress *progress, const struct layer *layer, unsigned columns)
{
    char text[LINE_MAX_BYTES];
    struct layer_line line = {layer->short_id, layer->state, layer->done, layer->size, layer->rate};

    /* a full last column would wrap on some terminals */
    format_layer_line(&line, columns - 1, text, sizeof(text));
    fprintf(progress->stream, "\r%s\033[K\n", text);
    progress->drawn++;
}

/* More layers than rows: those at work, then those that wait, and one line for the rest. */
static void draw_some(struct progress *progress, unsigned room, unsigned columns)
{
    unsigned left = room - 1;
    size_t finished = 0, waiting = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < progress->n; i++) {
            const struct layer *layer = &progress->layers[i];

            if (pass == 0 && is_finished(layer))
                finished++;
            else if (is_active(layer) == (pass == 0) && !is_finished(layer) && left > 0) {
                draw_layer(progress, layer, columns);
                left--;
            } else if (pass == 1 && layer->state == LAYER_WAITING)
                waiting++;
        }
    }
    fprintf(progress->stream, "\r%zu of %zu layers done, %zu more waiting\033[K\n", finished,
            progress->n, waiting);
    progress->drawn++;
}

static void erase(struct progress *progress)
{
    if (progress->drawn > 0)
        fprintf(progress->stream, "\033[%uA\r\033[J", progress->drawn);
    progress->drawn = 0;
}

static void draw(struct progress *progress, bool last)
{
    unsigned rows, columns;

    if (progress->mode != PROGRESS_BARS || progress->n == 0)
        return;
    terminal_size(progress, &rows, &columns);
    /* going up and overwriting line by line flickers less than erasing first */
    if (progress->drawn > 0 && progress->drawn < rows)
        fprintf(progress->stream, "\033[%uA", progress->drawn);
    progress->drawn = 0;
    columns = columns < 20 ? 20 : columns;
    if (progress->n < rows || last || rows < 4)
        for (size_t i = 0; i < progress->n && (last || i + 1 < rows); i++)
            draw_layer(progress, &progress->layers[i], columns);
    else
        draw_some(progress, rows - 1, columns);
    fputs("\033[J", progress->stream);
    fflush(progress->stream);
}

/* ---- lines and events ------------------------------------------------------------------------ */

void progress_message(struct progress *progress, const char *format, ...)
{
    va_list args;

    if (!is_text(progress))
        return;
    erase(progress);
    va_start(args, format);
    vfprintf(progress->stream, format, args);
    va_end(args);
    fputc('\n', progress->stream);
    draw(progress, false);
    fflush(progress->stream);
}

void progress_event(struct progress *progress, const char *event, json_t *object)
{
    json_t *line;
    char *text;

    if (object == NULL)
        return;
    if (progress->mode == PROGRESS_JSON && (line = json_pack("{s:s}", "event", event)) != NULL) {
        json_object_update(line, object);
        text = json_dumps(line, JSON_COMPACT);
        if (text != NULL) {
            fprintf(progress->stream, "%s\n", text);
            fflush(progress->stream);
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

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (progress->mode == PROGRESS_QUIET)
        fprintf(progress->stream, "%s: warning: %s\n", program, text);
    progress_message(progress, "%s: warning: %s", program, text);
    progress_event(progress, "warning", json_pack("{s:s}", "message", text));
}

void progress_log(struct progress *progress, const char *program, const char *line)
{
    if (progress->mode == PROGRESS_QUIET)
        fprintf(progress->stream, "%s: %s\n", program, line);
    progress_message(progress, "%s: %s", program, line);
    progress_event(progress, "log", json_pack("{s:s}", "message", line));
}

static void layer_event(struct progress *progress, const struct layer *layer)
{
    json_t *object = json_pack("{s:s, s:s, s:I}", "id", layer->id, "status",
                               layer_state_name(layer->state), "done", (json_int_t)layer->done);

    if (object != NULL && layer->size >= 0)
        json_object_set_new(object, "size", json_integer(layer->size));
    progress_event(progress, "progress", object);
}

static void plain_total(struct progress *progress, int64_t now)
{
    char done_text[FORMAT_NUMBER_MAX], size_text[FORMAT_NUMBER_MAX], rate_text[FORMAT_NUMBER_MAX];
    int64_t done = 0, size = 0;

    for (size_t i = 0; i < progress->n; i++) {
        if (progress->layers[i].state == LAYER_CACHED || progress->layers[i].size < 0)
            continue;
        size += progress->layers[i].size;
        done +=
            is_finished(&progress->layers[i]) ? progress->layers[i].size : progress->layers[i].done;
    }
    double seconds = (double)(now - progress->begun) / 1e9;
    double rate = seconds > 0 ? (double)done / seconds : 0;

    fprintf(progress->stream, "%s of %s, %s/s\n", format_bytes(done, done_text),
            format_bytes(size, size_text), format_bytes((int64_t)rate, rate_text));
    fflush(progress->stream);
}

static void plain_finished(struct progress *progress, const struct layer *layer)
{
    char size[FORMAT_NUMBER_MAX];

    fprintf(progress->stream, "%s: %s%s%s\n", layer->short_id, layer_state_name(layer->state),
            layer->size >= 0 ? ", " : "", layer->size >= 0 ? format_bytes(layer->size, size) : "");
    fflush(progress->stream);
}

/* ---- layers ---------------------------------------------------------------------------------- */

size_t progress_find(const struct progress *progress, const char *id)
{
    char short_id[16];

    format_short_digest(id, short_id);
    for (size_t i = 0; i < progress->n; i++)
        if (strcmp(progress->layers[i].short_id, short_id) == 0)
            return i;
    return SIZE_MAX;
}

size_t progress_add(struct progress *progress, const char *id, int64_t size)
{
    size_t i = progress_find(progress, id);
    struct layer *layer;

    if (i != SIZE_MAX)
        return i;
    layer = ocv_array_grow(&progress->layers, progress->n);
    if (layer == NULL || (layer->id = strdup(id)) == NULL)
        return SIZE_MAX;
    layer->size = size;
    format_short_digest(id, layer->short_id);
    layer->rate_at = progress->clock();
    if (progress->n == 0)
        progress->begun = layer->rate_at;
    progress_event(progress, "layer", json_pack("{s:s, s:I}", "id", id, "size", (json_int_t)size));
    return progress->n++;
}

/* A rate over the last half second, smoothed so that "time left" does not jump. */
static void measure(struct layer *layer, int64_t now)
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

static void redraw(struct progress *progress, int64_t now)
{
    if (progress->mode == PROGRESS_BARS && now - progress->last >= REDRAW_NS) {
        draw(progress, false);
        progress->last = now;
    } else if (progress->mode == PROGRESS_PLAIN && now - progress->begun >= PLAIN_NS &&
               now - progress->last >= PLAIN_NS) {
        plain_total(progress, now);
        progress->last = now;
    } else if (progress->mode == PROGRESS_JSON && now - progress->last >= REDRAW_NS) {
        for (size_t i = 0; i < progress->n; i++)
            if (progress->layers[i].dirty)
                layer_event(progress, &progress->layers[i]);
        for (size_t i = 0; i < progress->n; i++)
            progress->layers[i].dirty = false;
        progress->last = now;
    }
}

void progress_set(struct progress *progress, size_t i, enum layer_state state, int64_t done,
                  int64_t size)
{
    struct layer *layer;
    int64_t now;

    if (i >= progress->n)
        return;
    layer = &progress->layers[i];
    bool was_finished = is_finished(layer);

    now = progress->clock();
    if (layer->state != state) {
        /* the rate of another kind of work says nothing about this one */
        layer->rate = 0;
        layer->rate_at = now;
        layer->rate_done = done;
    }
    layer->state = state;
    layer->size = size >= 0 ? size : layer->size;
    layer->done = is_finished(layer) && layer->size >= 0 ? layer->size : done;
    layer->dirty = true;
    measure(layer, now);
    if (is_finished(layer) && !was_finished) {
        if (progress->mode == PROGRESS_PLAIN)
            plain_finished(progress, layer);
        if (progress->mode == PROGRESS_JSON) {
            layer_event(progress, layer);
            layer->dirty = false;
        }
    }
    redraw(progress, now);
}

void progress_settle(struct progress *progress, enum layer_state state)
{
    for (size_t i = 0; i < progress->n; i++)
        if (!is_finished(&progress->layers[i]))
            progress_set(progress, i, state, progress->layers[i].done, -1);
}

void progress_finish(struct progress *progress)
{
    draw(progress, true);
    progress->drawn = 0;
    forget_layers(progress);
}
