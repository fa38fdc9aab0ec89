/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking an engine's own client. */
#ifndef OCV_VERIFY_CLIENT_H
#define OCV_VERIFY_CLIENT_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

/** Append what the command prints to standard output to `out`, also where it fails then.
 *  OCV_ERR_NOT_FOUND: the program is not installed. OCV_ERR_ENGINE: it fails; the message is the
 *  last line of its errors. */
int client_capture(const char *const argv[], struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
