/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a runtime's CRI service says about its images, as `docker image inspect` would print it. */
#ifndef OCV_CRI_IMAGES_H
#define OCV_CRI_IMAGES_H

#include "ocivariant/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** ListImagesResponse -> [{"Id", "RepoTags", "RepoDigests"}]. The caller owns `*out`.
 *  OCV_ERR_DATA: malformed. */
int images_list_json(const uint8_t *bytes, size_t len, json_t **out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Add "Config" of a verbose ImageStatusResponse ({"Env", "Labels"}), which containerd and CRI-O
 *  have as "imageSpec" of their info; without it `image` stays as it is. 1; 0: the image was
 * removed meanwhile. OCV_ERR_DATA: malformed. */
int images_add_config(json_t *image, const uint8_t *bytes, size_t len,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
