/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Words that are nearly others: what "did you mean" asks. */
#ifndef OCV_NEAREST_H
#define OCV_NEAREST_H

#include <stddef.h>

/** Edit distance of two words (a swap of neighbours counts one), at most `max` + 1. */
size_t ocv_nearest_distance(const char *a, const char *b, size_t max);

#endif
