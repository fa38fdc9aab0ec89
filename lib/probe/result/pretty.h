/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indented JSON. */
#ifndef OCV_PRETTY_H
#define OCV_PRETTY_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <jansson.h>

/** Append JSON over several lines, without a final newline; what fits on a line stands on it. Keys
 *  must need no escapes. */
int ocv_pretty_append(const json_t *json, size_t indent, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
