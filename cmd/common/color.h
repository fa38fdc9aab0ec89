/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file color.h  Colours on a terminal, only for what must not be overlooked. */
#ifndef OCV_COLOR_H
#define OCV_COLOR_H

#include "ocivariant.h"

#include <stdio.h>

#define COLOR_RED "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_BOLD "\033[1m"
#define COLOR_END "\033[0m"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/** "auto", "always" or "never", of --color. */
bool color_read(const char *text, enum color_mode *out) OCV_WARN_UNUSED;
/** With COLOR_AUTO: a terminal that is not dumb, and no NO_COLOR (https://no-color.org). */
bool color_wanted(enum color_mode mode, FILE *stream);

#endif
