/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines as containers/image's copy writes them, one for each blob:
 *
 *   Copying blob accc4b459da2 [=======>------] 66.0MiB / 300.0MiB | 30.1 MiB/s
 *   Copying blob accc4b459da2 done   |
 *   Copying blob accc4b459da2 skipped: already exists
 *   Copying blob sha256:accc4b459da24b15...         (without a terminal: it begins)
 */
#include "cmd/vpull/engines/engine.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "Copying blob "
#define ID_DIGITS 12u

/* "66.0MiB", "12.3 KiB", "368.0b" as bytes, or -1. */
static int64_t parse_amount(const char *text)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"b", 1},        {"B", 1},        {"KiB", 0x1p10},
                 {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0 && value < 1e6))
        return -1;
    end += *end == ' ';
    size_t n = strcspn(end, " /|");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strlen(units[i].unit) == n && !strncmp(units[i].unit, end, n))
            return (int64_t)(value * units[i].factor);
    return -1;
}

bool podman_line_parse(const char *text, struct podman_line *out)
{
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return false;
    text += strlen(PREFIX);
    text += strncmp(text, "sha256:", 7) ? 0 : 7;
    if (strspn(text, "0123456789abcdef") < ID_DIGITS)
        return false;
    memcpy(out->id, text, ID_DIGITS);
    out->id[ID_DIGITS] = '\0';
    text += strspn(text, "0123456789abcdef");
    text += strspn(text, " ");
    out->state = LAYER_DOWNLOADING;
    out->done = -1;
    const char *bar = text[0] == '[' ? strchr(text, ']') : NULL;
    if (!strncmp(text, "done", 4))
        out->state = LAYER_DONE;
    else if (!strncmp(text, "skipped", 7))
        out->state = LAYER_CACHED;
    else if (bar)
        out->done = parse_amount(bar + 1);
    return true;
}
