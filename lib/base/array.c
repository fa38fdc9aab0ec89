/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *ocv_array_grow_bytes(void *array, size_t n, size_t size)
{
    char *data;
    memcpy(&data, array, sizeof(data)); /* a pointer of any type */
    if ((n & (n - 1)) == 0) {           /* 0 and powers of two: there is no room left */
        data = n > SIZE_MAX / 2 ? NULL : reallocarray(data, n ? 2 * n : 1, size);
        if (!data)
            return NULL;
        memcpy(array, &data, sizeof(data));
    }
    return memset(data + n * size, 0, size);
}
