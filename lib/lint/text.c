/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Versions. */
#include "lib/lint/lint_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int ocv_lint_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order)
                return order;
            a += n;
            b += m;
            continue;
        }
        /* 12 is 12.0 */
        if (!*a && *b == '.' && strspn(b, ".0") == strlen(b))
            return 0;
        if (!*b && *a == '.' && strspn(a, ".0") == strlen(a))
            return 0;
        if (*a != *b && (*a == '.' || *b == '.')) /* 8a is 8.0a */
            return *a == '.' ? 1 : -1;
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
    return 0;
}
