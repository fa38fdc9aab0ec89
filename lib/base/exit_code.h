/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef OCV_EXIT_CODE_H
#define OCV_EXIT_CODE_H

#include "ocivariant/error.h"

/** The documented exit code of our programs (0 to 5, 130) for a status. */
int ocv_error_exit_code(enum ocv_status status);

#endif
