/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* In the library, and in the programs' archive, which warns of what it reads beside an index. */
#include "lib/base/text.h"
#include "lib/core/core_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WARNINGS_MAX 64u

int ocv_index_warn(struct ocv_index *index, struct ocv_error *err, const char *format, ...)
{
    if (!index->warnings) {
        index->warnings = ocv_arena_alloc(&index->arena, WARNINGS_MAX, sizeof(char *));
        if (!index->warnings)
            return ocv_error_nomem(err);
    }
    if (index->n_warnings == WARNINGS_MAX)
        return OCV_OK;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ocv_text_clean(text);
    const char *copy = ocv_arena_text(&index->arena, text);
    if (!copy)
        return ocv_error_nomem(err);
    index->warnings[index->n_warnings++] = copy;
    return OCV_OK;
}
