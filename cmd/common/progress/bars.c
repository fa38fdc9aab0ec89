/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block of lines that is redrawn in place, never higher than the terminal. The cursor rests in
 * the first line: when a terminal becomes narrower it wraps lines that are too wide, and moves the
 * cursor with the text under it. Wrapping is off while drawing, because this process may learn the
 * new width later than the terminal. */
#include "cmd/common/color.h"
#include "cmd/common/progress/progress_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

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

/* Erased line by line: tmux moves text that is cleared at once from the top of the screen into its
 * history. */
void bars_erase(struct progress *progress)
{
    for (unsigned i = 0; i < progress->drawn; i++)
        fputs(i + 1 < progress->drawn ? "\r\033[K\033[B" : "\r\033[K", progress->stream);
    if (progress->drawn > 1)
        fprintf(progress->stream, "\033[%uA", progress->drawn - 1);
    progress->drawn = 0;
}

/* Draw `text`, coloured from `mark` to its end. */
static void draw_line(struct progress *progress, FILE *screen, const char *text, const char *mark)
{
    if (progress->color && mark)
        fprintf(screen, "%.*s" COLOR_YELLOW "%s" COLOR_END, (int)(mark - text), text, mark);
    else
        fputs(text, screen);
    fputs("\033[K\r\n", screen);
    progress->drawn++;
}

static void draw_layer(struct progress *progress, FILE *screen, const struct layer *layer,
                       unsigned columns)
{
    char text[PROGRESS_LINE_MAX];
    const struct layer_line line = progress_line(layer, progress->clock());

    /* a full last column would wrap on some terminals */
    format_layer_line(&line, columns - 1, text, sizeof(text));
    draw_line(progress, screen, text, line.stalled > 0 ? strstr(text, "stalled") : NULL);
}

/* More layers than rows: the active ones, then the waiting ones. */
static void draw_some(struct progress *progress, FILE *screen, unsigned room, unsigned columns)
{
    unsigned left = room;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < progress->n && left > 0; i++) {
            const struct layer *layer = &progress->layers[i];

            if (progress_is_active(layer) != (pass == 0) || progress_is_finished(layer))
                continue;
            draw_layer(progress, screen, layer, columns);
            left--;
        }
}

static void draw_sum(struct progress *progress, FILE *screen, unsigned columns)
{
    char text[PROGRESS_LINE_MAX];

    lines_sum(progress, progress->clock(), columns - 1, text, sizeof(text));
    draw_line(progress, screen, text, NULL);
}

static void draw_status(struct progress *progress, FILE *screen, unsigned columns)
{
    char text[PROGRESS_LINE_MAX];

    progress_status_text(progress, progress->clock(), text, sizeof(text));
    text[columns - 1 < sizeof(text) ? columns - 1 : sizeof(text) - 1] = '\0';
    draw_line(progress, screen, text, NULL);
}

/* With a last line for all of them, where there are several and room for it. */
static void draw_layers(struct progress *progress, FILE *screen, bool last, unsigned room,
                        unsigned columns)
{
    bool sum = !last && room > 0 && (progress->n > 2 || progress->n > room);

    room -= sum;
    if (progress->n <= room || last)
        for (size_t i = 0; i < progress->n; i++)
            draw_layer(progress, screen, &progress->layers[i], columns);
    else if (room > 0)
        draw_some(progress, screen, room, columns);
    if (sum)
        draw_sum(progress, screen, columns);
}

void bars_draw(struct progress *progress, bool last)
{
    unsigned rows, columns;
    bool status = progress->status[0] && !last;
    char *text = NULL;
    size_t len = 0;

    if (progress->mode != PROGRESS_BARS || (progress->drawn == 0 && progress->n == 0 && !status))
        return;
    FILE *screen = open_memstream(&text, &len);
    if (screen == NULL)
        return;
    terminal_size(progress, &rows, &columns);
    columns = columns < 20 ? 20 : columns;
    progress->drawn = 0;
    fputs("\r\033[?7l", screen); /* turns wrapping off */
    draw_layers(progress, screen, last, rows > 1u + status ? rows - 1 - status : 0, columns);
    if (status)
        draw_status(progress, screen, columns);
    fputs("\033[J\033[?7h", screen);
    if (progress->drawn > 0 && !last)
        fprintf(screen, "\033[%uA", progress->drawn);
    if (fclose(screen) == 0)
        fwrite(text, 1, len, progress->stream);
    fflush(progress->stream);
    free(text);
}
