/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/common/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int output_end(const char *program)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno ? errno : EIO));
    return 1;
}
