/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an engine streams while it pulls, in pieces of any size: every line comes whole, whatever
 * the pieces are, and a layer has an id and sizes in range. The first byte is the pieces' size. */
#include "cmd/vpull/engines/engine_stream.c"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static int take(void *data, const char *text)
{
    struct docker_line line;
    uint64_t *hash = data;
    size_t len = strlen(text);
    check(len < ENGINE_LINE_MAX && !strpbrk(text, "\r\n"));
    docker_line_parse(text, &line);
    check(!line.id[0] || (strlen(line.id) == 12 && strspn(line.id, "0123456789abcdef") == 12));
    check(line.done >= -1 && line.done <= ENGINE_BYTES_MAX);
    check(line.total >= -1 && line.total <= ENGINE_BYTES_MAX);
    check(strlen(line.failure) < sizeof(line.failure));
    check(*layer_state_name(line.state) != '\0');
    for (size_t i = 0; i <= len; i++)
        *hash = (*hash ^ (unsigned char)text[i]) * 1099511628211u;
    return 0;
}

static uint64_t feed(const char *bytes, size_t size, size_t piece)
{
    uint64_t hash = 14695981039346656037u;
    struct engine_lines lines = {.text = malloc(ENGINE_LINE_MAX), .line = take, .data = &hash};
    check(lines.text != NULL);
    for (size_t at = 0; at < size; at += piece)
        check(engine_lines_take(&lines, bytes + at, size - at < piece ? size - at : piece) == 0);
    check(engine_lines_flush(&lines) == 0);
    free(lines.text);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    check(feed((const char *)data + 1, size - 1, (size_t)data[0] + 1) ==
          feed((const char *)data + 1, size - 1, size));
    return 0;
}
