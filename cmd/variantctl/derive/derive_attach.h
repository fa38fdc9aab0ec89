/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the findings as a referrer, an artifact attached to the image, for other tools. No command
 * here reads it: findings always come from the files themselves. */
#ifndef OCV_DERIVE_ATTACH_H
#define OCV_DERIVE_ATTACH_H

#include "cmd/common/image/image.h"
#include "lib/internal/content/content_report.h"

/** Write the report on `child`, its subject, into the image's repository or layout. Equal findings
 *  give equal artifacts. `digest` receives the artifact's digest. */
int derive_attach(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_content_report *report, char digest[OCV_DIGEST_MAX],
                  struct ocv_error *err) OCV_WARN_UNUSED;

#endif
