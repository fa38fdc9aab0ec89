/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For clang-tidy only, which analyses one file at a time and does not know that the error functions
 * return a negative status. Without it, every path would continue after a failure. */
#ifndef OCV_LINT_MODEL_H
#define OCV_LINT_MODEL_H

#include "ocivariant.h"

int lint_any_status(void);
void lint_use(const void *err, const char *format, ...) OCV_PRINTF(2, 3);

static inline int lint_negative(int status)
{
    if (status >= 0)
        __builtin_unreachable();
    return status;
}

#define ocv_error_set(err, status, ...) (lint_use(err, __VA_ARGS__), lint_negative(status))
#define ocv_error_prefix(err, ...) (lint_use(err, __VA_ARGS__), lint_negative(lint_any_status()))
#define ocv_error_nomem(err) (lint_use(err, "memory"), lint_negative(OCV_ERR_NOMEM))

#endif
