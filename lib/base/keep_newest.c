/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Limits the age and the number of files named after digests ("sha...") in a directory. */
#include "lib/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define KEPT_NAME_MAX 168 /* of a digest with what is put behind it */

struct dated_name {
    int64_t time;
    char name[KEPT_NAME_MAX];
};

static int compare_age(const void *a, const void *b)
{
    const struct dated_name *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : strcmp(x->name, y->name);
}

static bool is_record(const char *name)
{
    return strncmp(name, "sha", 3) == 0 && strlen(name) < KEPT_NAME_MAX;
}

void ocv_directory_keep_newest(int fd, size_t max, int64_t age)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ocv_auto_dir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        ocv_fd_close(&copy);
        return;
    }
    /* most calls find that there is nothing to do: then names are counted, no file is looked at */
    size_t n = 0, room = 0;
    struct stat st;
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        room += is_record(entry->d_name) ? 1 : 0;
    rewinddir(dir);
    ocv_auto_free struct dated_name *files =
        room > max || age ? calloc(room + 1, sizeof(*files)) : NULL;
    while (files && n < room && (entry = readdir(dir))) {
        if (!is_record(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        files[n].time = st.st_mtime;
        memcpy(files[n++].name, entry->d_name, strlen(entry->d_name) + 1);
    }
    if (n)
        qsort(files, n, sizeof(*files), compare_age);
    int64_t now = time(NULL);
    for (size_t i = 0; i < n && (n - i > max || (age && now - files[i].time > age)); i++)
        unlinkat(fd, files[i].name, 0);
}
