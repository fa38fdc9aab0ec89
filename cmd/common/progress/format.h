/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file format.h  Numbers and progress lines as text. Pure functions. */
#ifndef OCV_FORMAT_H
#define OCV_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
