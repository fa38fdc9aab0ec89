/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory that is freed in one go: every parsed object owns one arena. */
#ifndef OCV_ARENA_H
#define OCV_ARENA_H

#include <stddef.h>

struct ocv_arena_block;
struct ocv_arena {
    struct ocv_arena_block *head;
};

/** Zeroed memory for `n` objects of `size` bytes, aligned for any type; NULL when out of memory. */
void *ocv_arena_alloc(struct ocv_arena *arena, size_t n, size_t size);
char *ocv_arena_copy(struct ocv_arena *arena, const char *s, size_t len);
char *ocv_arena_printf(struct ocv_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ocv_arena_free(struct ocv_arena *arena);

#endif
