/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Base64 (RFC 4648 section 4), by OpenSSL. */
#ifndef OCV_ENCODINGS_H
#define OCV_ENCODINGS_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stddef.h>

/** NUL-terminated; NULL without memory. The caller frees it. */
char *ocv_base64_encode(const void *data, size_t len);
/** With or without padding. NUL-terminated, NULL where malformed or without memory. The caller
 * frees it. */
char *ocv_base64_decode(const char *text, size_t *len);

/* Text in URLs: RFC 3986. */

#define OCV_URL_UNRESERVED "-._~" /**< what needs no escape anywhere, beside letters and digits */

/** Append `text`, each byte as "%XX" unless it is a letter, a digit or in `plain`. */
int ocv_url_escape(const char *text, const char *plain, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
