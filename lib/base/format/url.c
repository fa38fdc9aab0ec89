/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/url.h"
#include "lib/base/cleanup.h"

#include <string.h>

int ocv_url_escape(const char *text, const char *plain, struct ocv_buffer *out,
                   struct ocv_error *err)
{
    for (; *text; text++) {
        char c = *text;
        bool as_is = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr(plain, c);
        OCV_TRY(as_is ? ocv_buffer_append(out, text, 1, err)
                      : ocv_buffer_printf(out, err, "%%%02X", (unsigned char)c));
    }
    return OCV_OK;
}
