/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings as a referrer: an artifact attached to an image for others to read. No command here
 * reads it: findings are always taken from the files themselves. */
#ifndef OCV_DERIVE_ATTACH_H
#define OCV_DERIVE_ATTACH_H

#include "cmd/common/image/image_copy.h"
#include "lib/content/content_report.h"

/** Write the report of the image `child`, its subject, into the image's repository or layout. The
 * same findings give the same artifact. `digest` gets the artifact's. */
int derive_attach(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_content_report *report, char digest[OCV_DIGEST_MAX],
                  struct ocv_error *err) OCV_WARN_UNUSED;

#endif
