/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file engine_stream.h  Takes apart what an engine streams: lines in any pieces, and docker's
 *  progress. Pure. */
#ifndef VPULL_ENGINE_STREAM_H
#define VPULL_ENGINE_STREAM_H

#include "cmd/common/progress/format.h"

#define ENGINE_LINE_MAX (256u * 1024) /* the rest of a longer line is left out */
#define ENGINE_BYTES_MAX ((int64_t)1 << 50)

/** Lines that arrive in pieces. `text` has ENGINE_LINE_MAX bytes. */
struct engine_lines {
    char *text;
    size_t len;
    /** Gets each line that is not empty; a result other than 0 stops. */
    int (*line)(void *data, const char *text);
    void *data;
};
/** The next piece: returns what `line` returned last. A carriage return ends a line, too. */
int engine_lines_take(struct engine_lines *lines, const char *bytes, size_t len);
/** There is no more: the last line may lack its end. */
int engine_lines_end(struct engine_lines *lines);

/** A line of POST /images/create or /images/load. */
struct docker_line {
    char id[13]; /**< of a layer, or empty */
    enum layer_state state;
    int64_t done, total; /**< bytes; negative: not known */
    char failure[600];   /**< why the whole has failed, or empty */
};
/** Anything else than such a line gives an empty one. */
void docker_line_parse(const char *text, struct docker_line *out);

#endif
