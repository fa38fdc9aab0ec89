/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pieces of a text, cut and trimmed in place: properties, lists of settings. */
#ifndef OCV_SPAN_H
#define OCV_SPAN_H

#include <stdbool.h>
#include <stddef.h>

/** Bytes of a longer text; data NULL means "no more". */
struct ocv_span {
    const char *data;
    size_t len;
};

struct ocv_span ocv_span_trim(struct ocv_span s);
/** Cut the next piece up to `separator` off `rest`, trimmed. False when nothing is left. */
bool ocv_span_split(struct ocv_span *rest, char separator, struct ocv_span *piece);
/** Split at every "::", trimmed. Returns the number of parts, max + 1 if there are more. */
size_t ocv_span_parts(struct ocv_span text, struct ocv_span *parts, size_t max);

#endif
