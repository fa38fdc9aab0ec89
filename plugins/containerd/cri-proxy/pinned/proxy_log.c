/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/pinned/proxy_log.h"

#include "lib/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static bool verbose; /* written before threads start */

void log_setup(bool wanted)
{
    verbose = wanted;
}

__attribute__((format(printf, 1, 0))) static void put(const char *format, va_list args)
{
    static const char name[] = "ocivariant-cri-proxy: ";
    char line[LINE_MAX_BYTES];
    memcpy(line, name, sizeof(name));
    vsnprintf(line + sizeof(name) - 1, sizeof(line) - sizeof(name), format, args);
    ocv_text_clean(line);
    size_t len = strlen(line);
    line[len] = '\n';
    ssize_t written = write(STDERR_FILENO, line, len + 1);
    (void)written;
}

void log_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    va_list args;
    if (!verbose)
        return;
    va_start(args, format);
    put(format, args);
    va_end(args);
}
