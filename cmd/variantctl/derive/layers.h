/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All layers of an image, several at once. */
#ifndef OCV_LAYERS_H
#define OCV_LAYERS_H

#include "cmd/common/image/image.h"
#include "lib/internal/content/content_report.h"

/** The report on an image's layers, from the base up. Layers in a registry are streamed; nothing is
 *  unpacked. Of several layers that cannot be read, one is reported. */
int layers_read(struct cli *cli, const struct image *image, const struct ocv_manifest *manifest,
                struct ocv_content_report *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
