/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An image's manifest and configuration, kept in the user's cache, so that a second run asks the
 * registry only for the tag. */
#ifndef OCV_DERIVE_DOCUMENTS_H
#define OCV_DERIVE_DOCUMENTS_H

#include "cmd/common/image/image.h"

/** Like child_read. */
int derive_manifest(struct cli *cli, const struct image *image,
                    const struct ocv_descriptor *descriptor, struct manifest_doc *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Like child_config. */
int derive_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
