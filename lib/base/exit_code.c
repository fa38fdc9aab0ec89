/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/exit_code.h"

int ocv_error_exit_code(enum ocv_status status)
{
    switch (status) {
    case OCV_OK:
        return 0;
    case OCV_ERR_INVALID:
    case OCV_ERR_CONFIG:
        return 2;
    case OCV_ERR_NO_MATCH:
        return 3;
    case OCV_ERR_DATA:
    case OCV_ERR_MISMATCH:
    case OCV_ERR_UNTRUSTED:
        return 4;
    case OCV_ERR_CHECK:
        return 5;
    case OCV_ERR_INTERRUPTED:
        return 130;
    case OCV_ERR_NOMEM:
    case OCV_ERR_IO:
    case OCV_ERR_NETWORK:
    case OCV_ERR_TLS:
    case OCV_ERR_NOT_FOUND:
    case OCV_ERR_DENIED:
    case OCV_ERR_ENGINE:
    case OCV_ERR_UNSUPPORTED:
        return 1;
    }
    return 1;
}
