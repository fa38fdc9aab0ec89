/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A public header as the first and only include of a strict C11 file (-DHEADER='"name.h"'). Twice:
 * the include guard counts too. */
#include HEADER
#include HEADER

int ocv_header_alone(void);

int ocv_header_alone(void)
{
#ifdef OCIVARIANT_ERROR_H
    struct ocv_error err = {OCV_OK, 0, "", ""};

    return ocv_error_set(&err, OCV_ERR_DATA, "%s", ocv_version());
#else
    return 0;
#endif
}
