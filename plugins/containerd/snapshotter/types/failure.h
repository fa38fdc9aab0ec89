/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures of calls. Functions that answer a call return its gRPC code and put the text into `err`.
 * Codes and texts are those of containerd's overlayfs snapshotter, so that users cannot tell the
 * two apart. */
#ifndef OCV_SNAPSHOTTER_FAILURE_H
#define OCV_SNAPSHOTTER_FAILURE_H

#include "lib/internal/grpc/grpc.h"
#include "ocivariant.h"

/** Fill `err` and return `code`. */
enum grpc_code snap_fail(struct ocv_error *err, enum grpc_code code, const char *format, ...)
    OCV_PRINTF(3, 4);

#endif
