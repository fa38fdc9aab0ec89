/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file progress.h
 * What the user sees while an image comes: bars on a terminal, lines elsewhere, JSON on request.
 * Everything goes to one stream, that of JSON is best standard output. One thread.
 */
#ifndef OCV_PROGRESS_H
#define OCV_PROGRESS_H

#include "cmd/common/progress/format.h"
#include "ocivariant-registry.h"

#include <jansson.h>
#include <ocivariant.h>
#include <stdio.h>

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
/** Colours on or off (off before). */
void progress_color(struct progress *progress, bool on);

/** A line for people: above the bars, in plain and bar mode. */
void progress_message(struct progress *progress, const char *format, ...) OCV_PRINTF(2, 3);
/** A JSON event; nothing in the other modes. Takes the object; NULL is ignored. */
void progress_event(struct progress *progress, const char *event, json_t *object);
bool progress_is_json(const struct progress *progress);
/** "PROGRAM: warning: ..." as a line, in quiet mode too, or as an event. */
void progress_warn(struct progress *progress, const char *program, const char *format, ...)
    OCV_PRINTF(3, 4);

/** "PROGRAM: ..." of -v as a line, in quiet mode too, or as an event. */
void progress_log(struct progress *progress, const char *program, const char *line);

/** What is done now that has no layers, "app:1: resolving": a line below the bars that stays until
 *  the next one, or until progress_finish. In plain mode a line now, and again every few seconds
 *  with the time it takes; in JSON an event of that name with the image and the text as its
 * "message". */
void progress_status(struct progress *progress, const char *event, const char *image,
                     const char *format, ...) OCV_PRINTF(4, 5);
/** That is done. */
void progress_status_end(struct progress *progress);
/** To be said, once, in `ms` milliseconds, in every mode, unless progress_late_end comes before. */
void progress_late(struct progress *progress, unsigned ms, const char *format, ...)
    OCV_PRINTF(3, 4);
void progress_late_end(struct progress *progress);
/** Time passes: draw what depends on it. To be called several times a second. */
void progress_tick(struct progress *progress);
/** The registry client waits; counts as progress_tick, too. */
void progress_wait(struct progress *progress, const struct ocv_registry_wait *wait);

/** Add a layer; `id` is a digest or an engine's short id, `size` negative when unknown. Returns its
 *  number; the same id again returns the same number. SIZE_MAX without memory. */
size_t progress_add(struct progress *progress, const char *id, int64_t size);
/** Number of the layer whose short id this is, or SIZE_MAX. */
size_t progress_find(const struct progress *progress, const char *id);
/** Layer `i` has `done` bytes, or with a negative number is worked on without telling how far; a
 *  negative `size` leaves the size as it is. Numbers out of range are ignored. */
void progress_set(struct progress *progress, size_t i, enum layer_state state, int64_t done,
                  int64_t size);
/** Its first `done` bytes are left from an earlier run: a line, or an event. */
void progress_resumed(struct progress *progress, size_t i, int64_t done);
/** Give every layer that is not finished this state: the engine said "done" for the whole. */
void progress_settle(struct progress *progress, enum layer_state state);
/** Draw the last state and forget the layers (the image is through, or failed). */
void progress_finish(struct progress *progress);

#endif
