/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file progress.h
 * What the user sees while an image is pulled: bars on a terminal, lines elsewhere, JSON on
 * request. All output goes to one stream; for JSON that should be standard output. Images that are
 * pulled side by side have a struct progress each, on one display, and may use it in threads.
 */
#ifndef OCV_PROGRESS_H
#define OCV_PROGRESS_H

#include "cmd/common/cli.h"
#include "ocivariant-registry.h"

#include <jansson.h>
#include <ocivariant.h>
#include <stdio.h>

/* Numbers and progress lines as text. Pure functions. */

/** Longest text of format_bytes, with NUL. */
#define FORMAT_NUMBER_MAX 24

/** Decimal units with three significant digits as docker prints them: "512 B", "27.1 MB". Negative:
 *  "?". Returns `out`. */
const char *format_bytes(int64_t bytes, char out[FORMAT_NUMBER_MAX]);
/** "8s", "1m05s", "2h03m", "3d04h". Negative: "?". Returns `out`. */
const char *format_duration(int64_t seconds, char out[FORMAT_NUMBER_MAX]);
/** Time that `bytes` take at `rate` bytes per second, as a duration. */
const char *format_left(int64_t bytes, double rate, char out[FORMAT_NUMBER_MAX]);
/** The part of a digest that people compare: the first 12 hexadecimal digits. */
const char *format_short_digest(const char *digest, char out[16]);

/** State of one layer. Texts are the engine's own where it has any. */
enum layer_state {
    LAYER_WAITING,
    LAYER_DOWNLOADING,
    LAYER_DOWNLOADED, /**< all bytes have arrived; waits to be extracted */
    LAYER_EXTRACTING,
    LAYER_LOADING,
    LAYER_UPLOADING,
    LAYER_DONE,
    LAYER_CACHED,
};
/** "waiting", "downloading", ... Never NULL. */
const char *layer_state_name(enum layer_state state);

/** What one progress line shows. */
struct layer_line {
    const char *id; /**< short digest */
    enum layer_state state;
    int64_t done;    /**< negative: unknown, the time is shown instead */
    int64_t size;    /**< negative: unknown */
    double rate;     /**< bytes a second, 0: unknown */
    int64_t seconds; /**< in this state */
    int64_t stalled; /**< seconds without a byte, 0: not stalled */
};
/** One line of at most `width` columns, without newline, into `out` (truncated to `size`). */
void format_layer_line(const struct layer_line *line, unsigned width, char *out, size_t size);

#define PROGRESS_LINE_MAX 512
#define SECOND_NS 1000000000LL
#define PLAIN_NS (5 * SECOND_NS) /* without a terminal: interval of the line with the total */

enum progress_mode {
    PROGRESS_AUTO, /**< bars on a terminal, else plain */
    PROGRESS_BARS,
    PROGRESS_PLAIN,
    PROGRESS_JSON,
    PROGRESS_QUIET,
};

struct progress;
/** `stream` is borrowed. `clock` gives monotonic nanoseconds; NULL: the system's. */
int progress_new(enum progress_mode mode, FILE *stream, int64_t (*clock)(void),
                 struct progress **out, struct ocv_error *err);
void progress_free(struct progress *progress);
/** Another image on the display of `progress`, which must outlive it. From now on lines say whose
 *  they are. `image` is borrowed. */
int progress_open(struct progress *progress, const char *image, struct progress **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Events name this image from now on, where they name none; borrowed. NULL: none. */
void progress_image(struct progress *progress, const char *image);
/** What the caller prints until progress_release comes in one piece, above the bars. */
void progress_hold(struct progress *progress);
void progress_release(struct progress *progress);
/** Turn colours on or off (initially off). */
void progress_color(struct progress *progress, bool on);

/** A line for the user, in plain and bar mode; above the bars. */
void progress_message(struct progress *progress, const char *format, ...) OCV_PRINTF(2, 3);
/** A JSON event; nothing in the other modes. Takes the object; NULL is ignored. */
void progress_event(struct progress *progress, const char *event, json_t *object);
bool progress_is_json(const struct progress *progress);
/** "PROGRAM: warning: ..." as a line, in quiet mode too, or as an event. */
void progress_warn(struct progress *progress, const char *program, const char *format, ...)
    OCV_PRINTF(3, 4);

/** Callback of a struct cli: "PROGRAM: ..." of -v as a line, in quiet mode too, or as an event. */
void progress_log(void *progress, const char *line);

/** The current step when there are no layers, "app:1: resolving": a line below the bars that stays
 *  until the next step or progress_finish. In plain mode it is a line now, and again every few
 *  seconds with the elapsed time; in JSON an event of that name with the image, and the text as
 *  "message". */
void progress_status(struct progress *progress, const char *event, const char *image,
                     const char *format, ...) OCV_PRINTF(4, 5);
/** That step is done. */
void progress_status_end(struct progress *progress);
/** A message to print once, in every mode, in `ms` milliseconds, unless progress_late_end is called
 *  first. */
void progress_late(struct progress *progress, unsigned ms, const char *format, ...)
    OCV_PRINTF(3, 4);
void progress_late_end(struct progress *progress);
/** Draw whatever depends on the time. Call it several times a second. A callback, too. */
void progress_tick(void *progress);
/** The same: the registry client waits. Also does the work of progress_tick. */
void progress_wait(void *progress, const struct ocv_registry_wait *wait);

/** Add a layer. `id` is a digest or an engine's short id; `size` is negative if unknown. Returns
 *  its number, the same one for the same id; SIZE_MAX without memory. */
size_t progress_add(struct progress *progress, const char *id, int64_t size);
/** Number of the layer with this short id, or SIZE_MAX. */
size_t progress_find(const struct progress *progress, const char *id);
/** Layer `i` has `done` bytes; negative: in progress, amount unknown. A negative `size` keeps the
 *  size. Numbers out of range are ignored. */
void progress_set(struct progress *progress, size_t i, enum layer_state state, int64_t done,
                  int64_t size);
/** The first `done` bytes are from an earlier run: prints a line, or an event. */
void progress_resumed(struct progress *progress, size_t i, int64_t done);
/** Set the state of every unfinished layer: the engine reported that the whole is done. */
void progress_settle(struct progress *progress, enum layer_state state);
/** Draw the last state and forget the layers: the image is done, or failed. */
void progress_finish(struct progress *progress);

/* Sends a command's messages through its progress. */

/** From now on `cli`'s messages, warnings and waits go through the progress, so that they neither
 *  break the bars nor mix with JSON objects. The progress must live until progress_detach. */
void progress_attach(struct progress *progress, struct cli *cli);
void progress_detach(struct cli *cli);

#endif
