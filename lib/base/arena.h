/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory that is freed in one go: every parsed object owns one arena. */
#ifndef OCV_ARENA_H
#define OCV_ARENA_H

#include <stddef.h>
#include <string.h>

struct ocv_arena_block;
struct ocv_arena {
    struct ocv_arena_block *head;
};

/** Zeroed memory for `n` objects of `size` bytes, aligned for any type; NULL when out of memory. */
void *ocv_arena_alloc(struct ocv_arena *arena, size_t n, size_t size);
char *ocv_arena_copy(struct ocv_arena *arena, const char *s, size_t len);
/** The same of a whole text. */
static inline char *ocv_arena_text(struct ocv_arena *arena, const char *text)
{
    return ocv_arena_copy(arena, text, strlen(text));
}
char *ocv_arena_printf(struct ocv_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ocv_arena_free(struct ocv_arena *arena);

/* Arrays that grow by one element. Their count alone says how much room they have: as much as the
 * next power of two. So such an array starts as NULL with a count of 0, and only this makes it
 * larger; elements may be removed from it. free() frees it. */

/** `T *list; T *element = ocv_array_grow(&list, n);`: room for one more behind the `n` elements,
 *  zeroed, or NULL without memory; then the array is as it was. The caller counts the element. */
#define ocv_array_grow(array, n)                                                                 \
    __extension__({                                                                              \
        __typeof__(*(array)) ocv_added_ = ocv_array_grow_bytes((array), (n), sizeof(**(array))); \
        ocv_added_;                                                                              \
    })
void *ocv_array_grow_bytes(void *array, size_t n, size_t size) __attribute__((warn_unused_result));

#endif
