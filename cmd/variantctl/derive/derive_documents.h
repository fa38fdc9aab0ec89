/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest and the configuration of an image: from the user's cache where they were read
 * before, so that a second look at an image asks its registry for the tag alone. */
#ifndef OCV_DERIVE_DOCUMENTS_H
#define OCV_DERIVE_DOCUMENTS_H

#include "cmd/common/image/image_copy.h"

/** As child_read. */
int derive_manifest(struct cli *cli, const struct image *image,
                    const struct ocv_descriptor *descriptor, struct manifest_doc *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** As child_config. */
int derive_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
