/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OCV_SNAPSHOTTER_REGEX_H
#define OCV_SNAPSHOTTER_REGEX_H

#include "ocivariant.h"

#include <stdbool.h>

/** Go's regular expression in PCRE2's words (regex_go.c). False with what is wrong: not Go's, or
 *  nothing that PCRE2 can say. */
bool regex_from_go(const char *text, struct ocv_buffer *out, const char **wrong);

#endif
