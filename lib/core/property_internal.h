/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text pieces of properties, shared by the readers of indexes and profiles. */
#ifndef OCV_PROPERTY_INTERNAL_H
#define OCV_PROPERTY_INTERNAL_H

#include "lib/base/format/span.h"
#include "ocivariant/property.h"

/** Number of comma-separated pieces of a property list, empty ones included. */
size_t ocv_properties_pieces(struct ocv_span text);
int ocv_property_compare(const struct ocv_property *a, const struct ocv_property *b);

#endif
