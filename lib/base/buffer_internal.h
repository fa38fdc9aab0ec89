/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For writers that put bytes into a buffer by themselves. */
#ifndef OCV_BUFFER_H
#define OCV_BUFFER_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

/** Make room for `more` bytes and a NUL behind what is there. Over the maximum: OCV_ERR_DATA. */
int ocv_buffer_reserve(struct ocv_buffer *buffer, size_t more,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
