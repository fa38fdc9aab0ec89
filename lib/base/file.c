/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files relative to a directory descriptor: bounded reads, and writes that appear by rename after
 * fsync of the file, followed by fsync of the directory. */
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define TEMPORARY ".tmp-" /* readers of a directory skip such files */
#define TEMPORARY_MAX 32
#define TEMPORARY_AGE (60 * 60) /* seconds; no write of a small file takes so long */

int ocv_file_fail(struct ocv_error *err, const char *dir, const char *name, const char *what)
{
    char text[128];
    const char *why = strerror_r(errno, text, sizeof(text));
    return ocv_error_set(err, OCV_ERR_IO, "%s%s%s: cannot %s: %s", dir, name ? "/" : "",
                         name ? name : "", what, why);
}

bool ocv_fd_write(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* `size`: of a file that says it, which need not be asked for its end; 0: read to the end. */
static int read_all(int fd, const char *name, size_t size, struct ocv_buffer *out,
                    struct ocv_error *err)
{
    char chunk[16384];
    size_t total = 0;
    int status = OCV_OK;
    while (status == OCV_OK && (!size || total != size)) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", name, strerror(errno));
        if (n <= 0)
            break;
        total += (size_t)n;
        status = ocv_buffer_append(out, chunk, (size_t)n, err);
        if (status < 0)
            ocv_error_prefix(err, "%s", name);
    }
    explicit_bzero(chunk, total < sizeof(chunk) ? total : sizeof(chunk)); /* perhaps a password */
    return status;
}

int ocv_fd_read(int fd, const char *name, struct ocv_buffer *out, struct ocv_error *err)
{
    return read_all(fd, name, 0, out, err);
}

int ocv_file_read_in(int dirfd, const char *name, const char *path, enum ocv_file_kind kind,
                     struct ocv_buffer *out, struct ocv_error *err)
{
    struct stat st;
    bool regular = kind == OCV_FILE_REGULAR;
    ocv_auto_fd int fd =
        openat(dirfd, name, O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK | O_NOCTTY : 0));
    if (fd < 0 || fstat(fd, &st) < 0)
        return ocv_error_set(err,
                             errno == ENOENT || errno == ENOTDIR ? OCV_ERR_NOT_FOUND : OCV_ERR_IO,
                             "%s: %s", path, strerror(errno));
    if (regular && !S_ISREG(st.st_mode))
        return ocv_error_set(err, OCV_ERR_IO, "%s: not a regular file", path);
    return read_all(fd, path, S_ISREG(st.st_mode) ? (size_t)st.st_size : 0, out, err);
}

int ocv_file_read(const char *path, enum ocv_file_kind kind, struct ocv_buffer *out,
                  struct ocv_error *err)
{
    return ocv_file_read_in(AT_FDCWD, path, path, kind, out, err);
}

const char *ocv_file_distrust(const struct stat *st, uid_t self)
{
    if (st->st_uid != 0 && st->st_uid != self)
        return self == 0 ? "does not belong to root" : "belongs neither to root nor to this user";
    if (st->st_mode & S_IWGRP)
        return "its group may write to it";
    if (st->st_mode & S_IWOTH)
        return "any user may write to it";
    return NULL;
}

int ocv_file_open_at(int dirfd, const char *dir, const char *name, int *fd, int64_t *size,
                     struct ocv_error *err)
{
    ocv_auto_fd int file = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s/%s: not found", dir, name);
    struct stat st;
    if (file < 0 || fstat(file, &st) < 0)
        return ocv_file_fail(err, dir, name, "open");
    if (!S_ISREG(st.st_mode))
        return ocv_error_set(err, OCV_ERR_DATA, "%s/%s: not a regular file", dir, name);
    *size = st.st_size;
    *fd = ocv_fd_steal(&file);
    return OCV_OK;
}

int ocv_file_read_at(int dirfd, const char *dir, const char *name, struct ocv_buffer *out,
                     struct ocv_error *err)
{
    ocv_auto_fd int fd = -1;
    int64_t size;
    OCV_TRY(ocv_file_open_at(dirfd, dir, name, &fd, &size, err));
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return ocv_fd_read(fd, path, out, err);
}

int ocv_directory_order(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int ocv_directory_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int make_directory(const char *path, const char *whole, mode_t mode, struct ocv_error *err)
{
    bool made = mkdir(path, 0755) == 0;
    if (made ? !mode : errno == EEXIST)
        return OCV_OK;
    /* by descriptor: the owner of the directory above may have replaced it by a link */
    ocv_auto_fd int fd = made ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    return fd >= 0 && fchmod(fd, mode) == 0 ? OCV_OK
                                            : ocv_file_fail(err, whole, NULL, "create directory");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)!remove(path);
    return 0;
}

void ocv_directory_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int ocv_directory_make(const char *path, mode_t mode, struct ocv_error *err)
{
    size_t len = strlen(path);
    if (len == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "empty directory name");
    struct stat st;
    if (stat(path, &st) == 0)
        return OCV_OK; /* if it is a file, the caller's open reports it */
    ocv_auto_free char *copy = strdup(path);
    if (!copy)
        return ocv_error_nomem(err);
    for (size_t i = 1; i < len; i++) {
        if (copy[i] != '/')
            continue;
        copy[i] = '\0';
        if (stat(copy, &st) < 0) /* so that a read-only directory above causes no error */
            OCV_TRY(make_directory(copy, path, mode, err));
        copy[i] = '/';
    }
    return make_directory(path, path, mode, err);
}

int ocv_directory_open(int dirfd, const char *dir, const char *name, bool make, int *fd,
                       struct ocv_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int opened = openat(dirfd, name, flags);
    if (opened < 0 && errno == ENOENT && make) {
        if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
            return ocv_file_fail(err, dir, name, "create directory");
        if (fsync(dirfd) < 0)
            return ocv_file_fail(err, dir, NULL, "sync");
        opened = openat(dirfd, name, flags);
    }
    if (opened < 0)
        return ocv_file_fail(err, dir, name, "open directory");
    *fd = opened;
    return OCV_OK;
}

int ocv_file_replace(int tmpfd, int dirfd, const char *dir, const char *name, const void *data,
                     size_t len, mode_t mode, struct ocv_error *err)
{
    char temporary[TEMPORARY_MAX];
    ocv_auto_fd int fd = -1;
    for (int attempt = 0; fd < 0; attempt++) { /* a new file under a name that no process has */
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return ocv_file_fail(err, dir, name, "write");
        snprintf(temporary, sizeof(temporary), TEMPORARY "%016llx", (unsigned long long)random);
        /* a private file is private while it is written, too */
        fd = openat(tmpfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    mode ? 0600 : 0666);
        if (fd < 0 && (errno != EEXIST || attempt == 15))
            return ocv_file_fail(err, dir, name, "write");
    }
    if (!ocv_fd_write(fd, data, len) || (mode && fchmod(fd, mode) < 0) || fsync(fd) < 0 ||
        renameat(tmpfd, temporary, dirfd, name) < 0) {
        int status = ocv_file_fail(err, dir, name, "write");
        unlinkat(tmpfd, temporary, 0);
        return status;
    }
    if (fsync(dirfd) < 0)
        return ocv_file_fail(err, dir, NULL, "sync");
    return OCV_OK;
}

int ocv_file_write(const char *path, const void *data, size_t len, struct ocv_error *err)
{
    char real[PATH_MAX];
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode)) {
        ocv_auto_fd int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        return fd < 0 || !ocv_fd_write(fd, data, len) ? ocv_file_fail(err, path, NULL, "write")
                                                      : OCV_OK;
    }
    if (there && !realpath(path, real))
        return ocv_file_fail(err, path, NULL, "write");
    int n = there ? 0 : snprintf(real, sizeof(real), "%s", path);
    if (n < 0 || (size_t)n >= sizeof(real))
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: the path is too long", path);
    char *slash = strrchr(real, '/');
    const char *name = slash ? slash + 1 : real, *directory = slash > real ? real
                                                              : slash      ? "/"
                                                                           : ".";
    if (slash)
        *slash = '\0';
    ocv_auto_fd int dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dirfd < 0)
        return ocv_file_fail(err, path, NULL, "write");
    return ocv_file_replace(dirfd, dirfd, directory, name, data, len,
                            there ? st.st_mode & 07777 : 0, err);
}

void ocv_file_sweep(int tmpfd)
{
    int copy = openat(tmpfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        ocv_fd_close(&copy);
        return;
    }
    time_t now = time(NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        struct stat st;
        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0 ||
            fstatat(tmpfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode) && now - st.st_mtime > TEMPORARY_AGE)
            unlinkat(tmpfd, entry->d_name, 0);
    }
    closedir(dir);
}
