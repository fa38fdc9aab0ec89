/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arrays that grow by one element. Their count alone says how much room they have: as much as the
 * next power of two. So such an array starts as NULL with a count of 0, and only this makes it
 * larger; elements may be removed from it. free() frees it. */
#ifndef OCV_ARRAY_H
#define OCV_ARRAY_H

#include <stddef.h>

/** `T *list; T *element = ocv_array_grow(&list, n);`: room for one more behind the `n` elements,
 *  zeroed, or NULL without memory; then the array is as it was. The caller counts the element. */
#define ocv_array_grow(array, n)                                                                 \
    __extension__({                                                                              \
        __typeof__(*(array)) ocv_added_ = ocv_array_grow_bytes((array), (n), sizeof(**(array))); \
        ocv_added_;                                                                              \
    })
void *ocv_array_grow_bytes(void *array, size_t n, size_t size) __attribute__((warn_unused_result));

#endif
