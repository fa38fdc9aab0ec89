/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parts of digests. */
#ifndef OCV_DIGEST_INTERNAL_H
#define OCV_DIGEST_INTERNAL_H

#include "ocivariant/error.h"

/** Split a digest that is known here into "sha256" and its hex. OCV_ERR_DATA for any other. */
int ocv_digest_split(const char *digest, char algorithm[8], const char **hex,
                     struct ocv_error *err);

#endif
