/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last document seen under a tag, so that an unchanged tag costs one HEAD. Per user, in the XDG
 * cache directory; checked by digest when read, so a damaged file is only a miss. */
#ifndef OCV_CACHE_H
#define OCV_CACHE_H

#include "cmd/common/cli.h"

/** What was seen for the tag; false: nothing usable. `body` is empty then. */
bool cache_read(const struct ocv_reference *reference, struct ocv_descriptor *out,
                struct ocv_buffer *body);
/** Remember it; failure costs nothing but the next HEAD's use. */
void cache_write(const struct ocv_reference *reference, const struct ocv_descriptor *descriptor,
                 const struct ocv_buffer *body);

#endif
