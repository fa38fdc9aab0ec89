/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Base64 (RFC 4648 section 4), by OpenSSL. */
#ifndef OCV_BASE64_H
#define OCV_BASE64_H

#include <stddef.h>

/** NUL-terminated; NULL without memory. The caller frees it. */
char *ocv_base64_encode(const void *data, size_t len);
/** With or without padding. NUL-terminated, NULL where malformed or without memory. The caller
 * frees it. */
char *ocv_base64_decode(const char *text, size_t *len);

#endif
