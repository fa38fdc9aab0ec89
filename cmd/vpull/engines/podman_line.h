/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file podman_line.h  Parses podman's progress bars. Pure. */
#ifndef VPULL_PODMAN_LINE_H
#define VPULL_PODMAN_LINE_H

#include "cmd/common/progress/format.h"

struct podman_line {
    char id[13]; /**< first 12 digits of the layer's digest */
    enum layer_state state;
    int64_t done; /**< bytes; negative: not known */
};
/** Read a line "Copying blob ID ..." of podman 3 to 5, including bars. False: another line. */
bool podman_line_parse(const char *text, struct podman_line *out);

#endif
