/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which image a container was made of, by the files of containers/storage (podman, CRI-O): a
 * runtime hook is told the container only. */
#ifndef OCV_HOOK_STORAGE_H
#define OCV_HOOK_STORAGE_H

#include "ocivariant.h"

struct storage_image {
    char digest[OCV_DIGEST_MAX]; /**< of the manifest, or empty */
    char name[512];              /**< its first name, or empty */
    bool lost; /**< it is made of an image, of which the files do not tell more, or unreadable ones
                */
};

/** `bundle`: "ROOT/overlay-containers/ID/userdata", or another driver's directory. `root`: where
 * images are if not there, or NULL. False where it is no such directory or the files do not say. */
bool storage_find(const char *bundle, const char *root, struct storage_image *out);

#endif
