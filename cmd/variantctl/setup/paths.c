/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of the machine, or of another tree under --root. Below a root every link is resolved within
 * it. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPEN_TRIES 2000u
#define OPEN_TRIES_AT_ONCE 20u /* later ones follow a pause, which a busy machine needs */

static int fail_errno(struct ocv_error *err, const char *path, const char *what)
{
    return ocv_error_set(err, errno == ENOMEM ? OCV_ERR_NOMEM : OCV_ERR_IO, "%s: cannot %s: %s",
                         path, what, strerror(errno));
}

/* Open a path below the root with these flags; -1 with errno. */
static int open_in_root(const struct setup *setup, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned)(O_CLOEXEC | flags),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    const struct timespec pause = {.tv_nsec = 1000000};
    errno = EAGAIN; /* a rename or mount elsewhere, and the path has ".." */
    for (unsigned n = 0; fd < 0 && errno == EAGAIN && n < OPEN_TRIES; n++) {
        if (n >= OPEN_TRIES_AT_ONCE)
            nanosleep(&pause, NULL);
        fd = syscall(SYS_openat2, setup->root_fd, path, &how, sizeof(how));
    }
    return (int)fd;
}

/* The real location of an existing path below the root, as the kernel names it; NULL with errno. */
static char *real_in_root(const struct setup *setup, const char *path)
{
    char proc[64], real[PATH_MAX];
    if (!*setup->root)
        return realpath(path, NULL);
    ocv_auto_fd int fd = open_in_root(setup, path, O_PATH);
    if (fd < 0)
        return NULL;
    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(proc, real, sizeof(real) - 1);
    size_t skip = strlen(setup->root);
    if (n < 0)
        return NULL;
    real[n] = '\0';
    const char *below = strncmp(real, setup->root, skip) == 0 ? real + skip : "?";
    errno = EXDEV;
    if (*below && *below != '/')
        return NULL;
    below = *below ? below : "/";
    /* It must still have that name. The kernel's name of a removed one is "NAME (deleted)". */
    struct stat was, is;
    ocv_auto_fd int again = open_in_root(setup, below, O_PATH | O_NOFOLLOW);
    if (again < 0)
        return NULL;
    bool same = fstat(fd, &was) == 0 && fstat(again, &is) == 0 && was.st_dev == is.st_dev &&
                was.st_ino == is.st_ino;
    errno = ENOENT; /* something else has the name now */
    return same ? strdup(below) : NULL;
}

/* What a path that cannot be resolved names. Creating a directory through a dangling link would
 * create it at the link's target, outside of the root. Anything that is not a link was created just
 * now by another process. */
enum at_path { AT_NOTHING, AT_LINK, AT_SOMETHING };

static enum at_path at_path(const struct setup *setup, const char *path)
{
    struct stat st;
    if (!*setup->root) {
        if (lstat(path, &st) < 0)
            return AT_NOTHING;
    } else {
        int fd = open_in_root(setup, path, O_PATH | O_NOFOLLOW);
        if (fd < 0)
            return AT_NOTHING;
        int failed = fstat(fd, &st);
        close(fd);
        if (failed)
            return AT_NOTHING;
    }
    return S_ISLNK(st.st_mode) ? AT_LINK : AT_SOMETHING;
}

int setup_resolve(const struct setup *setup, const char *path, char **out, struct ocv_error *err)
{
    ocv_auto_free char *head = strdup(path);
    ocv_auto_free char *real = NULL;
    *out = NULL;
    if (!head)
        return ocv_error_nomem(err);
    size_t len = strlen(head);
    enum at_path what = AT_NOTHING;
    for (unsigned tries = 0;;) {
        real = real_in_root(setup, len ? head : "/");
        if (real || errno != ENOENT || len == 0)
            break;
        what = at_path(setup, head);
        errno = ENOENT;
        if (what == AT_LINK || tries == OPEN_TRIES) /* without /proc no file has a name */
            break;
        if (what == AT_SOMETHING && ++tries)
            continue;
        char *slash = strrchr(head, '/');
        len = slash ? (size_t)(slash - head) : 0;
        head[len] = '\0';
    }
    if (!real && what == AT_LINK)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: a dangling link", head);
    if (!real)
        return fail_errno(err, path, "find");
    return asprintf(out, "%s%s", strcmp(real, "/") == 0 ? "" : real, path + len) < 0
               ? ocv_error_nomem(err)
               : OCV_OK;
}

bool setup_exists(const struct setup *setup, const char *path, bool directory)
{
    struct stat st;
    int fd = *setup->root ? open_in_root(setup, path, O_PATH) : open(path, O_PATH | O_CLOEXEC);
    bool there = fd >= 0 && fstat(fd, &st) == 0 && (!directory || S_ISDIR(st.st_mode));
    if (fd >= 0)
        close(fd);
    return there;
}

void setup_names_free(struct setup_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
    *names = (struct setup_names){0};
}

int setup_list(const struct setup *setup, const char *path, struct setup_names *out,
               struct ocv_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = *setup->root ? open_in_root(setup, path, flags) : open(path, flags);
    ocv_auto_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    *out = (struct setup_names){0};
    if (!dir) {
        int saved = errno;
        if (fd >= 0)
            close(fd);
        errno = saved;
        return errno == ENOENT || errno == ENOTDIR ? OCV_OK : fail_errno(err, path, "list");
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char **name = out->n < SETUP_FILES_MAX ? ocv_array_grow(&out->list, out->n) : NULL;
        if (!name || !(*name = strdup(entry->d_name)))
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: cannot hold a list of its files",
                                 path);
        out->n++;
    }
    if (out->n)
        qsort(out->list, out->n, sizeof(*out->list), ocv_text_order);
    return OCV_OK;
}
