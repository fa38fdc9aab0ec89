/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was found out of a layer or an image, in the user's cache ($XDG_CACHE_HOME/ocivariant/KIND),
 * by digest. What another version found is not asked for. */
#ifndef OCV_DIGEST_CACHE_H
#define OCV_DIGEST_CACHE_H

#include "ocivariant/buffer.h"

#include <stdbool.h>

/** Append what was written of `kind` ("content", "configs", "documents") under the digest; false:
 * nothing. A reader has to stand a damaged file. */
bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out);
/** Failure costs nothing but the next reading. */
void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found);

#endif
