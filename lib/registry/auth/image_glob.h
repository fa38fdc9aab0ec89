/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* HOST[:PORT][/PATH] with "*" in the labels of the host: which images credentials are for, as
 * kubelet tells it (pkg/credentialprovider/keyring.go, URLsMatch). */
#ifndef OCV_IMAGE_GLOB_H
#define OCV_IMAGE_GLOB_H

#include <stdbool.h>

#define OCV_IMAGE_GLOB_MAX 512u /* bytes of a glob that is compared */

/** Is the image (HOST[:PORT]/REPOSITORY) one of them? As many labels, each matched by its own part
 *  of the glob; the same port or none; and a path that begins with the glob's, wherever that ends.
 */
bool ocv_image_glob_match(const char *glob, const char *image);
/** May an image at HOST[:PORT] be one of them? */
bool ocv_image_glob_covers(const char *glob, const char *host);

#endif
