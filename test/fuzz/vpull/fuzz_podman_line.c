/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a line of podman: the result is a layer's short id and a number in range. */
#include "cmd/vpull/engines/podman_line.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct podman_line line;
    char *text = strndup((const char *)data, size);
    if (text && podman_line_parse(text, &line) &&
        (strlen(line.id) != ID_DIGITS || line.done < -1 || line.done > (int64_t)1e18 * 2))
        abort();
    free(text);
    return 0;
}
