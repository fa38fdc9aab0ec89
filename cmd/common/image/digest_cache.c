/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/digest_cache.h"

#include "lib/base/file.h"
#include "ocivariant/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 2000u /* entries of one kind */

/* $XDG_CACHE_HOME/ocivariant/KIND/VERSION */
static bool directory_name(const char *kind, char *out, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_xdg = xdg && xdg[0] == '/';
    if (!has_xdg && (!home || home[0] != '/'))
        return false;
    int n = snprintf(out, size, "%s%s/ocivariant/%s/" OCV_VERSION, has_xdg ? xdg : home,
                     has_xdg ? "" : "/.cache", kind);
    return n > 0 && (size_t)n < size;
}

static void file_name(const char *digest, char out[OCV_DIGEST_MAX])
{
    snprintf(out, OCV_DIGEST_MAX, "%s", digest);
    out[strcspn(out, ":")] = '-';
}

static int open_directory(const char *kind, bool make)
{
    char path[4096];
    if (!directory_name(kind, path, sizeof(path)) ||
        (make && ocv_directory_make(path, 0700, NULL) < 0))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out)
{
    char name[OCV_DIGEST_MAX];
    ocv_auto_fd int directory = open_directory(kind, false);
    if (directory < 0 || !ocv_digest_known(digest))
        return false;
    file_name(digest, name);
    return ocv_file_read_at(directory, "cache", name, out, NULL) >= 0 && out->len;
}

void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found)
{
    char name[OCV_DIGEST_MAX];
    ocv_auto_fd int directory = open_directory(kind, true);
    if (directory < 0 || !ocv_digest_known(digest))
        return;
    file_name(digest, name);
    if (ocv_file_replace(directory, directory, "cache", name, found->data, found->len, 0600, NULL) <
        0)
        return;
    ocv_directory_keep_newest(directory, KEPT_MAX, 0);
}
