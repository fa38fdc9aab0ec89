/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block of lines that is redrawn in place, never higher than the terminal. The cursor rests in
 * the first line: when a terminal becomes narrower it wraps lines that are too wide, and moves the
 * cursor with the text under it. Wrapping is off while drawing, because this process may learn the
 * new width later than the terminal. */
#include "cmd/common/cli.h"
#include "cmd/common/progress/progress_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* Erased line by line: tmux moves text that is cleared at once from the top of the screen into its
 * history. */
void bars_erase(struct progress_display *display)
{
    for (unsigned i = 0; i < display->drawn; i++)
        fputs(i + 1 < display->drawn ? "\r\033[K\033[B" : "\r\033[K", display->stream);
    if (display->drawn > 1)
        fprintf(display->stream, "\033[%uA", display->drawn - 1);
    display->drawn = 0;
}

/* A block that is being drawn. */
struct screen {
    struct progress_display *display;
    FILE *stream;
    unsigned room; /* lines that are left */
    unsigned columns;
    int64_t now;
};

/* Draw `text`, coloured from `mark` to its end. */
static void draw_line(struct screen *screen, const char *text, const char *mark)
{
    if (screen->display->color && mark)
        fprintf(screen->stream, "%.*s" COLOR_YELLOW "%s" COLOR_END, (int)(mark - text), text, mark);
    else
        fputs(text, screen->stream);
    fputs("\033[K\r\n", screen->stream);
    screen->display->drawn++;
    screen->room -= screen->room > 0;
}

static void draw_layer(struct screen *screen, const struct layer *layer)
{
    char text[PROGRESS_LINE_MAX];
    const struct layer_line line = progress_line(layer, screen->now);

    /* a full last column would wrap on some terminals */
    format_layer_line(&line, screen->columns - 1, text, sizeof(text));
    draw_line(screen, text, line.stalled > 0 ? strstr(text, "stalled") : NULL);
}

static void draw_sum(struct screen *screen, const struct progress *progress)
{
    char text[PROGRESS_LINE_MAX];

    lines_sum(progress, true, screen->now, screen->columns - 1, text, sizeof(text));
    draw_line(screen, text, NULL);
}

/* What does not fit is left out from the end, never cut: what comes behind a colon, then words. */
static void fit_status(char *text, size_t width)
{
    while (strlen(text) > width) {
        char *end = NULL;

        for (char *colon = text; (colon = strstr(colon, ": ")) != NULL; colon++)
            end = colon;
        if (end == NULL && (end = strrchr(text, ' ')) == NULL)
            end = text + width; /* one long word */
        *end = '\0';
    }
}

static void draw_status(struct screen *screen, const struct progress *progress)
{
    char text[PROGRESS_LINE_MAX];

    progress_status_text(progress, screen->now, text, sizeof(text));
    fit_status(text, screen->columns - 1);
    draw_line(screen, text, NULL);
}

/* With a last line for all of them, where there are several and room for it. */
static void draw_layers(struct screen *screen, const struct progress *progress)
{
    bool sum = screen->room > 0 && (progress->n > 1 || progress->n > screen->room);

    screen->room -= sum;
    if (progress->n <= screen->room)
        for (size_t i = 0; i < progress->n; i++)
            draw_layer(screen, &progress->layers[i]);
    else if (screen->room > 0) {
        /* More layers than rows: the active ones, then the waiting ones. */
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < progress->n && screen->room > 0; i++) {
                const struct layer *layer = &progress->layers[i];

                if (progress_is_active(layer->state) != (pass == 0) || progress_is_finished(layer))
                    continue;
                draw_layer(screen, layer);
            }
    }
    if (sum)
        draw_sum(screen, progress);
}

/* "app:1: 5 of 15 layers, ..." in one line; a name that leaves no room for it loses its head. */
static void draw_image(struct screen *screen, const struct progress *progress)
{
    char text[2 * PROGRESS_LINE_MAX], sum[PROGRESS_LINE_MAX];
    size_t width = screen->columns - 1, name = strlen(progress->image);
    size_t half = width / 2 < name ? width / 2 : name;

    lines_sum(progress, false, screen->now, (unsigned)(width - half - 2), sum, sizeof(sum));
    size_t shown = width - 2 - strlen(sum);

    snprintf(text, sizeof(text), "%s: %s", progress->image + (name > shown ? name - shown : 0),
             sum);
    draw_line(screen, text, NULL);
}

/* Images side by side: a line for each that is under way, below it the layers at work, and last a
 * line for all. */
static void draw_several(struct screen *screen)
{
    const struct progress *first = screen->display->first, *at;
    unsigned images = 0, layers = 0;

    for (at = first; at != NULL; at = at->next) {
        images += at->n > 0 || at->status[0];
        layers += at->n > 0;
    }
    bool sum = layers > 1 && screen->room > images;
    unsigned spare = screen->room > images + sum ? screen->room - images - sum : 0;

    for (at = first; at != NULL && screen->room > 0; at = at->next) {
        if (at->status[0])
            draw_status(screen, at);
        else if (at->n > 0)
            draw_image(screen, at);
        for (size_t i = 0; i < at->n && spare > 0; i++) {
            if (!progress_is_active(at->layers[i].state))
                continue;
            draw_layer(screen, &at->layers[i]);
            spare--;
        }
    }
    if (sum)
        draw_sum(screen, first);
}

/* The cursor rests in the block's first line, or below what is drawn for the last time. */
static void draw_block(struct progress_display *display, const struct progress *last)
{
    struct screen screen = {.display = display, .columns = 80, .now = display->clock()};
    struct winsize size;
    unsigned rows = 24;
    char *text = NULL;
    size_t len = 0;

    screen.stream = open_memstream(&text, &len);
    if (screen.stream == NULL)
        return;
    if (ioctl(fileno(display->stream), TIOCGWINSZ, &size) == 0) {
        rows = size.ws_row > 0 ? size.ws_row : rows;
        screen.columns = size.ws_col > 0 ? size.ws_col : screen.columns;
    }
    screen.columns = screen.columns < 20 ? 20 : screen.columns;
    display->drawn = 0;
    fputs("\r\033[?7l", screen.stream); /* turns wrapping off */
    bool status = !last && !display->several && display->first->status[0];

    screen.room = rows > 1u + status ? rows - 1 - status : 0;
    if (last && display->several && last->n > 0)
        draw_image(&screen, last);
    else if (last)
        for (size_t i = 0; i < last->n; i++)
            draw_layer(&screen, &last->layers[i]);
    else if (display->several)
        draw_several(&screen);
    else
        draw_layers(&screen, display->first);
    if (status)
        draw_status(&screen, display->first);
    fputs("\033[J\033[?7h", screen.stream);
    if (display->drawn > 0 && !last)
        fprintf(screen.stream, "\033[%uA", display->drawn);
    if (last)
        display->drawn = 0;
    if (fclose(screen.stream) == 0)
        fwrite(text, 1, len, display->stream);
    fflush(display->stream);
    free(text);
}

void bars_draw(struct progress_display *display)
{
    bool any = display->drawn > 0;

    for (const struct progress *at = display->first; at != NULL; at = at->next)
        any = any || at->n > 0 || at->status[0];
    if (display->mode == PROGRESS_BARS && any)
        draw_block(display, NULL);
}

void bars_draw_last(struct progress *progress)
{
    struct progress_display *display = progress->display;

    if (display->mode == PROGRESS_BARS && (display->drawn > 0 || progress->n > 0))
        draw_block(display, progress);
}
