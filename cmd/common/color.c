/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool color_read(const char *text, enum color_mode *out)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(text, names[i])) {
            *out = (enum color_mode)i;
            return true;
        }
    return false;
}

bool color_wanted(enum color_mode mode, FILE *stream)
{
    if (mode != COLOR_AUTO)
        return mode == COLOR_ALWAYS;
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return (!no || !*no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}
