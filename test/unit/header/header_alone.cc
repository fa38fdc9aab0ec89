/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A public header as the first and only include of a C++ file (-DHEADER='"name.h"'). Twice: the
 * include guard counts too. */
#include HEADER
#include HEADER

int ocv_header_alone();

int ocv_header_alone()
{
#ifdef OCIVARIANT_ERROR_H
    ocv_error err = ocv_error();

    return ocv_error_set(&err, OCV_ERR_DATA, "%s", ocv_version());
#else
    return 0;
#endif
}
