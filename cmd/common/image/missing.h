/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints for an image that does not exist. */
#ifndef OCV_IMAGE_MISSING_H
#define OCV_IMAGE_MISSING_H

#include "cmd/common/cli.h"

/** Add a hint to the error of a name that its registry does not have (OCV_ERR_NOT_FOUND): the
 *  repository's tags, similar ones first, if the registry lists them; or that the repository does
 *  not exist; or that tag rules of another registry would know the name. Sends one more request. */
void image_explain_missing(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err);

#endif
