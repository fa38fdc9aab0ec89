/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of executable providers. A user who can write there runs code as us, which is root
 * in a daemon: a file that others than root or ourselves could have written is not run. */
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "lib/probe/executable/executable.h"
#include "ocivariant/property.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ocv_executable_name(const char *file, char out[OCV_EXECUTABLE_NAME_MAX + 1])
{
    size_t n = 0;
    for (; file[n] && file[n] != '.' && n < OCV_EXECUTABLE_NAME_MAX; n++) {
        char c = (char)tolower((unsigned char)file[n]);
        out[n] = ocv_property_name_valid(&c, 1) ? c : '_';
    }
    out[n] = '\0';
}

/* Why this file is not run, or NULL. Links are not followed: their targets' directories could
 * belong to any user. */
static const char *find_refusal(int directory, const char *file)
{
    struct stat st;
    if (fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return strerror(errno);
    if (S_ISLNK(st.st_mode))
        return "it is a symbolic link";
    if (!S_ISREG(st.st_mode))
        return "it is not a regular file";
    const char *why = ocv_file_distrust(&st, geteuid());
    return why ? why : st.st_mode & 0111 ? NULL : "it is not executable";
}

static int list_programs(const char *directory, int fd, const char *distrust,
                         struct ocv_executables *set, struct ocv_error *err)
{
    struct dirent **entries;
    int n = scandirat(fd, ".", &entries, ocv_directory_visible, ocv_directory_order);
    if (n < 0)
        return errno == ENOMEM
                   ? ocv_error_nomem(err)
                   : ocv_error_set(err, OCV_ERR_IO, "%s: %s", directory, strerror(errno));
    int status = OCV_OK;
    set->items = calloc(n > 0 ? (size_t)n : 1, sizeof(*set->items));
    if (!set->items)
        status = ocv_error_nomem(err);
    else if ((size_t)n > OCV_EXECUTABLES_MAX)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s: more than %u providers", directory,
                               OCV_EXECUTABLES_MAX);
    for (int i = 0; i < n; i++) {
        const char *file = entries[i]->d_name, *why = NULL;
        struct ocv_executable *item = status == OCV_OK ? &set->items[set->n] : NULL;
        if (item && asprintf(&item->path, "%s/%s", directory, file) < 0) {
            item->path = NULL;
            status = ocv_error_nomem(err);
        } else if (item) {
            set->n++;
            ocv_executable_name(file, item->name);
            why = distrust ? distrust : find_refusal(fd, file);
        }
        if (why)
            item->status = ocv_error_set(&item->error, OCV_ERR_DENIED, "%s: not run: %s%s",
                                         item->path, distrust ? "its directory: " : "", why);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int ocv_executables_find(const char *directory, struct ocv_executables *out, struct ocv_error *err)
{
    struct ocv_executables set = {0};
    struct ocv_error distrust = {0};
    ocv_auto_fd int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ocv_auto_fd int trusted = -1;
    if (fd < 0)
        return errno == ENOENT
                   ? OCV_OK
                   : ocv_error_set(err, OCV_ERR_IO, "%s: %s", directory, strerror(errno));
    int status = list_programs(directory, fd, "", &set, err);
    if (status == OCV_OK &&
        set.n) { /* where there is none, as on most machines, no path is walked */
        ocv_executables_free(&set);
        set = (struct ocv_executables){0};
        bool good = ocv_trusted_open(directory, S_IFDIR, &trusted, &distrust) == OCV_OK;
        status = list_programs(directory, good ? trusted : fd, good ? NULL : distrust.message, &set,
                               err);
    }
    if (status < 0)
        ocv_executables_free(&set);
    else
        *out = set;
    return status;
}
