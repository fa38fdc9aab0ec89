/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of progress: progress.c keeps the layers, messages.c prints everything
 * besides them, bars.c draws them on a terminal, lines.c prints them as lines. */
#ifndef OCV_PROGRESS_INTERNAL_H
#define OCV_PROGRESS_INTERNAL_H

#include "cmd/common/progress/progress.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    char *id;
    char short_id[16];
    enum layer_state state;
    int64_t done, size;
    int64_t since;      /* of the state */
    int64_t changed_at; /* last change of the state or of `done` */
    int64_t data_at;    /* first change of `done` in this state; 0: none yet */
    double rate;
    int64_t rate_at, rate_done; /* last measurement of the rate */
    bool dirty;                 /* JSON: changed since the last event */
};

/* What the images of one run share. */
struct progress_display {
    pthread_mutex_t lock; /* held by every function of progress.h; recursive */
    enum progress_mode mode;
    const char *program; /* name of the attached program */
    bool color;
    bool several; /* images are pulled side by side: lines name theirs */
    FILE *stream;
    int64_t (*clock)(void);
    unsigned drawn; /* lines of the block on the screen */
    int64_t last;   /* time of the last redraw or line */
    struct progress *first;
};

/* One image. */
struct progress {
    struct progress_display *display;
    struct progress *next; /* of the same display */
    const char *image;     /* named by its events, or NULL */
    struct layer *layers;
    size_t n;
    char status[PROGRESS_LINE_MAX]; /* empty: none */
    char late[PROGRESS_LINE_MAX];   /* message to print at `late_at`, or empty */
    int64_t late_at;
    char waiting[PROGRESS_LINE_MAX]; /* "waiting for registry.example", or empty */
    char try[48];                    /* " (try 2 of 3)" */
    int64_t status_since, waiting_since;
    int64_t waiting_told; /* time of the last line or event about it */
};

static inline void progress_unlock(struct progress_display **display)
{
    pthread_mutex_unlock(&(*display)->lock);
}
/** Locks the display of `progress` for the rest of the scope. */
#define PROGRESS_LOCK(progress)                                                       \
    __attribute__((cleanup(progress_unlock), unused)) struct progress_display *held = \
        progress_locked(progress)
struct progress_display *progress_locked(const struct progress *progress);
/** "IMAGE: " where several are pulled, else "". */
const char *progress_prefix(const struct progress *progress, char out[PROGRESS_LINE_MAX]);

bool progress_is_active(enum layer_state state);
bool progress_is_finished(const struct layer *layer);
/** The layer as shown now. */
struct layer_line progress_line(const struct layer *layer, int64_t now);
/** "app:1: resolving: waiting for registry.example for 7 s (try 1 of 3)". */
void progress_status_text(const struct progress *progress, int64_t now, char *out, size_t size);

/** Erase the block from the screen. */
void bars_erase(struct progress_display *display);
/** Draw it. */
void bars_draw(struct progress_display *display);
/** Draw the image for the last time: all of its layers, even if they exceed the terminal, or one
 *  line where several are pulled. */
void bars_draw_last(struct progress *progress);

/** A layer is finished, or all its bytes have arrived. */
void lines_finished(struct progress *progress, const struct layer *layer);
/** "5 of 15 layers, 6.1 MB of 15.8 MB, 1.1 MB/s, 9s left" in at most `width` columns: the rate is
 *  left out first, then the sizes, then the time. Of one image, or of all where `all` is set. */
void lines_sum(const struct progress *progress, bool all, int64_t now, unsigned width, char *out,
               size_t size);
/** Print the overall progress. */
void lines_total(struct progress_display *display, int64_t now);

#endif
