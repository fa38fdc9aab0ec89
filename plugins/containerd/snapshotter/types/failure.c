/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/types/failure.h"

#include <stdarg.h>
#include <stdio.h>

enum grpc_code snap_fail(struct ocv_error *err, enum grpc_code code, const char *format, ...)
{
    char text[OCV_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ocv_error_set(err, OCV_ERR_INVALID, "%s", text);
    return code;
}
