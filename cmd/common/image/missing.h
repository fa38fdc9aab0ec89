/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is there where an image is not. */
#ifndef OCV_IMAGE_MISSING_H
#define OCV_IMAGE_MISSING_H

#include "cmd/common/cli.h"

/** Give the error of a name that its registry does not have (OCV_ERR_NOT_FOUND) a hint: the tags of
 *  the repository, those like it first, if the registry lists them, or that there is no such
 *  repository; and where tag rules of another registry would know the name. Asks the registry once
 *  more. */
void image_explain_missing(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err);

#endif
