/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records of older versions, which have no repository: they apply to any image with their
 * digest. */
#include "lib/internal/records/records_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

/* "sha256-HEX.json": no repository follows. */
static bool is_old(const char *name)
{
    const char *dash = strncmp(name, "sha", 3) == 0 ? strchr(name, '-') : NULL;
    return dash && !strchr(dash + 1, '-') && ocv_record_is_named(name, "sha", ".json");
}

static size_t discard_from(int fd)
{
    size_t n = 0;
    const struct dirent *entry;
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        ocv_fd_close(&fd);
        return 0;
    }
    while ((entry = readdir(list)))
        n += is_old(entry->d_name) && unlinkat(dirfd(list), entry->d_name, 0) == 0;
    closedir(list);
    return n;
}

size_t ocv_record_discard_old(const char *dir)
{
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    return discard_from(openat(fd, OCV_RECORD_INDEXES, flags)) +
           discard_from(openat(fd, ".", flags));
}
