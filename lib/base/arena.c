/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocks of at least BLOCK bytes in a list; nothing is returned before the whole arena is freed. */
#include "lib/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OCV_SANITIZED
#define BLOCK 0u /* each allocation alone, of its own size: what reaches beyond it is seen */
#else
#define BLOCK (16u * 1024)
#endif

struct ocv_arena_block {
    struct ocv_arena_block *next;
    size_t used, cap;
    alignas(max_align_t) unsigned char data[];
};

void *ocv_arena_alloc(struct ocv_arena *arena, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    if (BLOCK)
        bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct ocv_arena_block *block = arena->head;
    if (!block || block->cap - block->used < bytes) {
        size_t cap = bytes > BLOCK ? bytes : BLOCK;
        block = malloc(sizeof(*block) + cap);
        if (!block)
            return NULL;
        block->used = 0;
        block->cap = cap;
        block->next = arena->head;
        arena->head = block;
    }
    void *p = block->data + block->used;
    block->used += bytes;
    return memset(p, 0, bytes);
}

char *ocv_arena_copy(struct ocv_arena *arena, const char *s, size_t len)
{
    char *copy = ocv_arena_alloc(arena, len + 1, 1);
    if (copy && len)
        memcpy(copy, s, len);
    return copy;
}

char *ocv_arena_printf(struct ocv_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : ocv_arena_alloc(arena, (size_t)n + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void ocv_arena_free(struct ocv_arena *arena)
{
    while (arena->head) {
        struct ocv_arena_block *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
}

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
