/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The user that an image's config names (image-spec config.md, `config.User`). */
#ifndef OCV_IMAGE_USER_H
#define OCV_IMAGE_USER_H

#include "lib/base/format/json.h"
#include "ocivariant/error.h"

#include <stddef.h>

#define OCV_IMAGE_USER_MAX 128u /**< bytes of a name, with the NUL; longer: OCV_ERR_DATA */
#define OCV_IMAGE_CONFIG_MAX (4u * 1024 * 1024) /**< bytes of a config */

/** The user of a config's bytes as kubelet takes it for a container: what stands before ":" (the
 *  group is left to the engine), and "root" for none, for "0" and for numbers that are 0.
 * Malformed: OCV_ERR_DATA. */
int ocv_image_user(const void *config, size_t len, char out[OCV_IMAGE_USER_MAX],
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** The same of a config that was parsed; NULL: an empty one. */
int ocv_image_user_of(const json_t *config, char out[OCV_IMAGE_USER_MAX],
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
