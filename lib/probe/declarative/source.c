/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a declarative provider's file reads from the machine: a line of a file, or the text after a
 * key of one; and what is made of it: a version, a number of bytes. */
#include "lib/probe/declarative/declarative.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX 16384u /* bytes of a version file */

/* The text after "KEY=" or "KEY:" of the first line that has it. */
static bool keyed_line(int root, const char *path, const char *key, char *out, size_t size)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, FILE_MAX);
    if (ocv_sysroot_read(root, path, &text, NULL) < 0 || text.len == 0)
        return false;
    for (const char *line = text.data; *line;) {
        size_t len = strcspn(line, "\n"), at = strlen(key);
        if (len > at && strncmp(line, key, at) == 0) {
            at += strspn(line + at, " \t");
            if (line[at] == '=' || line[at] == ':') {
                at++;
                at += strspn(line + at, " \t\"");
                while (len > at && (isspace((unsigned char)line[len - 1]) || line[len - 1] == '"'))
                    len--;
                if (len <= at || len - at >= size)
                    return false;
                memcpy(out, line + at, len - at);
                out[len - at] = '\0';
                return true;
            }
        }
        line += len + (line[len] == '\n');
    }
    return false;
}

static bool read_one(const struct ocv_probe_host *host, const struct ocv_yaml *source,
                     const char *dir, char *out, size_t size)
{
    char path[640];
    const char *file = source->text ? source->text : ocv_yaml_text(source, "file");
    const char *key = source->text ? NULL : ocv_yaml_text(source, "key");
    if (file[0] == '/')
        snprintf(path, sizeof(path), "%s", file + 1);
    else
        snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", file);
    if (!(key ? keyed_line(host->root, path, key, out, size)
              : ocv_sysroot_line(host->root, path, out, size)))
        return false;
    for (const char *c = out; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            return false;
    return true;
}

bool ocv_source_read(const struct ocv_probe_host *host, const struct ocv_yaml *sources,
                     const char *dir, char *out, size_t size)
{
    if (!sources || sources->type != OCV_YAML_LIST)
        return sources && read_one(host, sources, dir, out, size);
    for (const struct ocv_yaml *s = sources->first; s; s = s->next)
        if (read_one(host, s, dir, out, size))
            return true;
    return false;
}

bool ocv_source_version(char *text)
{
    size_t len = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    while (isalnum((unsigned char)text[len]) ||
           (text[len] == '.' && isalnum((unsigned char)text[len + 1]))) {
        /* the published provider of the one namespace that reads versions leaves these out */
        if (strncasecmp(text + len, ".alpha", 6) == 0 || strncasecmp(text + len, ".beta", 5) == 0)
            break;
        text[len] = (char)tolower((unsigned char)text[len]);
        len++;
    }
    text[len] = '\0';
    return true;
}

const char *ocv_source_units(size_t i)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    return i < sizeof(units) / sizeof(*units) ? units[i] : NULL;
}

bool ocv_source_bytes(const char *text, const char *unit, uint64_t *out)
{
    unsigned shift = 0;
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    for (size_t i = 0; unit && ocv_source_units(i); i++)
        if (strcmp(unit, ocv_source_units(i)) == 0)
            shift = (unsigned)(i * 10);
    if (errno || *end || value == 0 || value > UINT64_MAX >> shift)
        return false;
    *out = (uint64_t)value << shift;
    return true;
}
