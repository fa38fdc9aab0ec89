/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text pieces of properties, shared by the index, profile and configuration readers. */
#ifndef OCV_PROPERTY_H
#define OCV_PROPERTY_H

#include "ocivariant/property.h"

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
/** Number of comma-separated pieces of a property list, empty ones included. */
size_t ocv_properties_pieces(struct ocv_span text);
int ocv_property_compare(const struct ocv_property *a, const struct ocv_property *b);

#endif
