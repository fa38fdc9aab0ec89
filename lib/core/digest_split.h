/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef OCV_DIGEST_SPLIT_H
#define OCV_DIGEST_SPLIT_H

#include "ocivariant/digest.h"

#include <string.h>

/** Split one that is known here into "sha256" and its hex, which is borrowed from `digest`:
 *  OCV_ERR_DATA for any other. */
static inline int ocv_digest_split(const char *digest, char algorithm[8], const char **hex,
                                   struct ocv_error *err)
{
    if (!digest || !ocv_digest_known(digest))
        return ocv_error_set(err, OCV_ERR_DATA, "not a digest that can be checked here: '%.150s'",
                             digest ? digest : "");
    size_t len = strcspn(digest, ":"); /* "sha256" or "sha512" */
    memcpy(algorithm, digest, len);
    algorithm[len] = '\0';
    *hex = digest + len + 1;
    return OCV_OK;
}

#endif
