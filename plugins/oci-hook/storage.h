/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks up a container's image in the files of containers/storage (podman, CRI-O), because a
 * runtime hook only learns the container. */
#ifndef OCV_HOOK_STORAGE_H
#define OCV_HOOK_STORAGE_H

#include "ocivariant.h"

struct storage_image {
    char digest[OCV_DIGEST_MAX]; /**< of the manifest, or empty */
    char name[512];              /**< its first name, or empty */
    bool lost; /**< there is an image, but its digest is not in the files, or they cannot be read */
};

/** `bundle`: "ROOT/overlay-containers/ID/userdata", or another driver's directory. `root`:
 *  directory of the images if that differs, or NULL. False if it is not such a directory, or no
 *  digest was found. */
bool storage_find(const char *bundle, const char *root, struct storage_image *out);

#endif
