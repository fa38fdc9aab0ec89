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

/* Most calls find that there is nothing to do: then names are counted, and no file is looked at. */
static size_t count_files(DIR *dir)
{
    size_t n = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        n += is_record(entry->d_name) ? 1 : 0;
    rewinddir(dir);
    return n;
}

static size_t list_files(DIR *dir, struct dated_name *out, size_t room)
{
    size_t n = 0;
    struct stat st;
    const struct dirent *entry;
    while (n < room && (entry = readdir(dir))) {
        if (!is_record(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        out[n].time = st.st_mtime;
        memcpy(out[n++].name, entry->d_name, strlen(entry->d_name) + 1);
    }
    return n;
}

void ocv_directory_keep_newest(int fd, size_t max, int64_t age)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        ocv_fd_close(&copy);
        return;
    }
    size_t n = count_files(dir);
    struct dated_name *files = n > max || age ? calloc(n + 1, sizeof(*files)) : NULL;
    if (files) {
        n = list_files(dir, files, n);
        qsort(files, n, sizeof(*files), compare_age);
        int64_t now = time(NULL);
        for (size_t i = 0; i < n && (n - i > max || (age && now - files[i].time > age)); i++)
            unlinkat(fd, files[i].name, 0);
    }
    free(files);
    closedir(dir);
}
