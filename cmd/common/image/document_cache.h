/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last document seen under each tag, so that an unchanged tag costs one HEAD. Per user, in the
 * XDG cache directory. The digest is checked on reading, so a damaged file is only a miss. */
#ifndef OCV_CACHE_H
#define OCV_CACHE_H

#include "cmd/common/cli.h"
#include "ocivariant/buffer.h"

#include <stdbool.h>

/** The document cached for the tag; false, with an empty `body`, if there is none. */
bool cache_read(const struct ocv_reference *reference, struct ocv_descriptor *out,
                struct ocv_buffer *body);
/** Cache it. After a failed write the next HEAD saves no GET. */
void cache_write(const struct ocv_reference *reference, const struct ocv_descriptor *descriptor,
                 const struct ocv_buffer *body);

/* Facts about a layer or an image, cached per user by digest ($XDG_CACHE_HOME/ocivariant/KIND).
 * Entries of another version are not used. */

/** The directory of `kind`, which is made; false: this user has none. */
bool digest_cache_directory(const char *kind, char *path, size_t size);
/** Append the entry of `kind` ("content", "configs", "documents", "tags") for the digest; false if
 * there is none. A reader must cope with a damaged file. */
bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out);
/** A failed write is ignored: the next reader finds the facts again. */
void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found);

#endif
