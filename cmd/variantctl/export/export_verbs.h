/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of `variantctl export`. */
#ifndef OCV_EXPORT_VERBS_H
#define OCV_EXPORT_VERBS_H

#include "cmd/variantctl/verbs.h"

#define NFD_PREFIX "dev.ocivariant/" /* of the features of node-feature-discovery */

int cmd_export_backendai(struct cli *cli, int argc, char **argv);
int cmd_export_nfd(struct cli *cli, int argc, char **argv);
/** Append the compatibility specification of an image's variants; `attach`: attach to each variant
 *  its own instead, and print what was attached. */
int export_nfd_image(struct cli *cli, const char *text, bool attach, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
int cmd_export_slurm(struct cli *cli, int argc, char **argv);

#endif
