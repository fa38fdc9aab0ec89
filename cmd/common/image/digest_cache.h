/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about a layer or an image, cached per user by digest ($XDG_CACHE_HOME/ocivariant/KIND).
 * Entries of another version are not used. */
#ifndef OCV_DIGEST_CACHE_H
#define OCV_DIGEST_CACHE_H

#include "ocivariant/buffer.h"

#include <stdbool.h>

/** Append the entry of `kind` ("content", "configs", "documents") for the digest; false if there is
 *  none. A reader must cope with a damaged file. */
bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out);
/** A failed write is ignored: the next reader finds the facts again. */
void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found);

#endif
