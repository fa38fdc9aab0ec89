/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and directories below the root, accessed only through descriptors.
 *
 * A path comes here with its links resolved (setup_resolve). Each component is then opened in
 * the directory before it and must no longer be a link. So the owner of the tree below --root
 * cannot redirect a read or write out of it by replacing a directory in between. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int fail_errno(const struct setup *setup, const char *path, const char *what,
                      struct ocv_error *err)
{
    int saved = errno;
    ocv_error_set(err, OCV_ERR_IO, "%s%s: cannot %s: %s", setup->root, path, what, strerror(saved));
    errno = saved;
    return OCV_ERR_IO;
}

static void close_quietly(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
}

int setup_open_root(struct setup *setup)
{
    setup->root_fd = open(*setup->root ? setup->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return setup->root_fd;
}

static bool sync_directory(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    close_quietly(fd);
    return synced;
}

/* The directory `name` in another one; created if it is missing and `make` is a mode. */
static int enter_one(int from, const char *name, int flags, mode_t make)
{
    flags |= O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(from, name, flags);
    if (fd >= 0 || errno != ENOENT || !make)
        return fd;
    bool made = mkdirat(from, name, make) == 0;
    if (!made && errno != EEXIST)
        return -1;
    fd = openat(from, name, O_RDONLY | (flags & ~O_PATH));
    if (fd < 0 || !made || (fchmod(fd, make) == 0 && sync_directory(from))) /* despite the umask */
        return fd;
    close_quietly(fd);
    return -1;
}

int setup_enter(const struct setup *setup, const char *path, mode_t make)
{
    int fd = openat(setup->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *rest = path + strspn(path, "/");
    while (fd >= 0) {
        char name[NAME_MAX + 1];
        size_t n = strcspn(rest, "/");
        const char *next = rest + n + strspn(rest + n, "/");
        bool last = !*next, up = n == 2 && memcmp(rest, "..", 2) == 0;
        if (n > NAME_MAX || up) { /* ".." would have been resolved, so its parent does not exist */
            close(fd);
            errno = up ? ENOENT : ENAMETOOLONG;
            return -1;
        }
        snprintf(name, sizeof(name), "%.*s", n ? (int)n : 1, n ? rest : ".");
        int inner = enter_one(fd, name, last ? O_RDONLY : O_PATH, make && !last ? 0755 : make);
        close_quietly(fd);
        fd = inner;
        rest = next;
        if (last)
            break;
    }
    return fd;
}

/* A file's directory, and its name in that. */
static int directory_of(const struct setup *setup, const char *path, mode_t make, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *directory = strndup(path, (size_t)(slash - path));
    int fd = directory ? setup_enter(setup, directory, make) : -1;
    int saved = errno;
    free(directory);
    errno = saved;
    *name = slash + 1;
    return fd;
}

int setup_make_directories(const struct setup *setup, const char *path, mode_t mode, int *out,
                           struct ocv_error *err)
{
    int fd = setup_enter(setup, path, mode);
    if (fd < 0)
        return fail_errno(setup, path, "create directory", err);
    if (out)
        *out = fd;
    else
        close(fd);
    return OCV_OK;
}

bool setup_remove_directory(const struct setup *setup, const char *path)
{
    const char *name;
    int directory = directory_of(setup, path, 0, &name);
    bool gone = directory >= 0 ? unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT
                               : errno == ENOENT;
    close_quietly(directory);
    return gone;
}

int setup_open_file(const struct setup *setup, const char *path)
{
    const char *name;
    int directory = directory_of(setup, path, 0, &name);
    int fd = directory < 0 ? -1
                           : openat(directory, name,
                                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    close_quietly(directory);
    return fd;
}

int setup_read_fd(int fd, const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_append(out, "", 0, err));
    return ocv_fd_read(fd, path, out, err);
}

int setup_read_file(const struct setup *setup, const char *path, struct ocv_buffer *out,
                    struct ocv_error *err)
{
    int fd = setup_open_file(setup, path);
    if (fd < 0)
        return ocv_error_set(err,
                             errno == ENOENT || errno == ENOTDIR ? OCV_ERR_NOT_FOUND : OCV_ERR_IO,
                             "%s%s: %s", setup->root, path, strerror(errno));
    int status = setup_read_fd(fd, path, out, err);
    close(fd);
    return status;
}

#define ATTRIBUTES_MAX 65536u /* bytes of all names, and of one value: kernel limits */

/* Keep the file's metadata: its access list (without it the mode would grant more), security label
 * and owner's attributes. Attributes that the file system or the caller's rights do not allow are
 * dropped, except an access list. */
static bool keep_attributes(int from, int to)
{
    static const char acl[] = "system.posix_acl_access";
    ssize_t len = from >= 0 ? flistxattr(from, NULL, 0) : 0;
    if (len <= 0)
        return true; /* no access list, or no such file */
    char *names = calloc(2, ATTRIBUTES_MAX), *value = names ? names + ATTRIBUTES_MAX : NULL;
    bool kept = names && (len = flistxattr(from, names, ATTRIBUTES_MAX - 1)) >= 0;
    for (const char *name = names; kept && name < names + len; name += strlen(name) + 1) {
        ssize_t n = fgetxattr(from, name, value, ATTRIBUTES_MAX);
        bool set = n >= 0 && fsetxattr(to, name, value, (size_t)n, 0) == 0;
        kept = set || strcmp(name, acl) != 0;
    }
    free(names);
    return kept;
}

/* Set owner and attributes of `old` (a descriptor, or -1), mode and time; then sync. */
static bool finish_file(int fd, int old, const struct setup_meta *meta, bool restore)
{
    struct stat st;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, meta->mtime};
    return fstat(fd, &st) == 0 &&
           ((st.st_uid == meta->uid && st.st_gid == meta->gid) ||
            fchown(fd, meta->uid, meta->gid) == 0) &&
           keep_attributes(old, fd) && fchmod(fd, meta->mode) == 0 &&
           (!restore || futimens(fd, times) == 0) && fsync(fd) == 0;
}

#define TEMPORARY ""   /* fixed names, so that a killed run's files are found again */
#define WHOLE "-whole" /* the content being written over a file with hard links */

/* .NAME.ocivariantTAIL */
static bool beside(const char *name, const char *tail, char out[NAME_MAX + 1])
{
    return snprintf(out, NAME_MAX + 1, ".%s.ocivariant%s", name, tail) <= NAME_MAX;
}

static bool replace_file(int directory, const char *name, const struct setup_content *content,
                         bool restore)
{
    char temporary[NAME_MAX + 1];
    if (!beside(name, TEMPORARY, temporary)) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlinkat(directory, temporary, 0);
    int fd =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    int old = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool done = ocv_fd_write(fd, (&content->text)->data, (&content->text)->len) &&
                finish_file(fd, old, &content->meta, restore) &&
                renameat(directory, temporary, directory, name) == 0;
    close_quietly(old);
    close_quietly(fd);
    int saved = errno;
    if (!done)
        unlinkat(directory, temporary, 0);
    errno = saved;
    return done && sync_directory(directory);
}

/* A file with hard links keeps them: it is overwritten in place. The new content is first stored in
 * a file beside it, so that an interrupted run can be completed. */
static bool write_over(int directory, const char *name, const struct setup_content *content,
                       bool restore)
{
    char temporary[NAME_MAX + 1], whole[NAME_MAX + 1];
    if (!beside(name, TEMPORARY, temporary) || !beside(name, WHOLE, whole)) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlinkat(directory, temporary, 0);
    int fd =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = fd >= 0 && ocv_fd_write(fd, (&content->text)->data, (&content->text)->len) &&
                fsync(fd) == 0 && renameat(directory, temporary, directory, whole) == 0 &&
                sync_directory(directory);
    close_quietly(fd);
    fd = done ? openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
              : -1;
    done = fd >= 0 && ocv_fd_write(fd, (&content->text)->data, (&content->text)->len) &&
           ftruncate(fd, (off_t)content->text.len) == 0 &&
           finish_file(fd, -1, &content->meta, restore) && unlinkat(directory, whole, 0) == 0;
    close_quietly(fd);
    return done && sync_directory(directory);
}

/* Below --root the other names may be anywhere, even where the tree's owner cannot write. */
static bool has_other_names(const struct setup *setup, int directory, const char *name)
{
    struct stat st;
    return !*setup->root && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_nlink > 1;
}

int setup_write_file(const struct setup *setup, const char *path,
                     const struct setup_content *content, bool restore, struct ocv_error *err)
{
    const char *name;
    int directory = directory_of(setup, path, 0755, &name);
    bool done = directory >= 0 && (has_other_names(setup, directory, name)
                                       ? write_over(directory, name, content, restore)
                                       : replace_file(directory, name, content, restore));
    int status = done ? OCV_OK : fail_errno(setup, path, "write", err);
    close_quietly(directory);
    return status;
}

int setup_remove_file(const struct setup *setup, const char *path, struct ocv_error *err)
{
    const char *name;
    int directory = directory_of(setup, path, 0, &name), status = OCV_OK;
    if (directory < 0)
        return errno == ENOENT ? OCV_OK : fail_errno(setup, path, "remove", err);
    if ((unlinkat(directory, name, 0) < 0 && errno != ENOENT) || !sync_directory(directory))
        status = fail_errno(setup, path, "remove", err);
    close_quietly(directory);
    return status;
}

int setup_read_whole(const struct setup *setup, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err)
{
    char whole[NAME_MAX + 1];
    const char *name;
    int directory = directory_of(setup, path, 0, &name), status = OCV_ERR_NOT_FOUND, fd = -1;
    if (directory >= 0 && has_other_names(setup, directory, name) && beside(name, WHOLE, whole))
        fd = openat(directory, whole, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        status = setup_read_fd(fd, path, out, err);
    close_quietly(fd);
    close_quietly(directory);
    return status;
}

void setup_unlink_temporary(const struct setup *setup, const char *path, bool whole_too)
{
    char temporary[NAME_MAX + 1];
    const char *name;
    int directory = directory_of(setup, path, 0, &name);
    if (directory >= 0 && beside(name, TEMPORARY, temporary))
        unlinkat(directory, temporary, 0);
    if (directory >= 0 && whole_too && beside(name, WHOLE, temporary))
        unlinkat(directory, temporary, 0);
    close_quietly(directory);
}
