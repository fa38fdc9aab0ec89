/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text in URLs: RFC 3986. */
#ifndef OCV_URL_H
#define OCV_URL_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#define OCV_URL_UNRESERVED "-._~" /**< what needs no escape anywhere, beside letters and digits */

/** Append `text`, each byte as "%XX" unless it is a letter, a digit or in `plain`. */
int ocv_url_escape(const char *text, const char *plain, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
