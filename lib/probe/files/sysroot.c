/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the machine that is probed. Invariant: whatever a recorded tree holds (absolute links,
 * "..", FIFOs, endless files), nothing outside it is opened and no read blocks or grows past its
 * limit. */
#include "lib/probe/files/sysroot.h"

#include "lib/base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int ocv_sysroot_open(const char *path, int *root, struct ocv_error *err)
{
    int fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ocv_error_set(err, errno == ENOENT ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "%s: %s",
                             path ? path : "/", strerror(errno));
    *root = fd;
    return OCV_OK;
}

/* Descriptors of the directories on the way from the root: [0] is the root itself and not ours. */
struct open_path {
    int fds[OCV_SYSROOT_DEPTH_MAX + 1];
    size_t depth;
};

static void trail_pop(struct open_path *trail)
{
    if (trail->depth > 0)
        close(trail->fds[trail->depth--]);
}

/* Cut the next component off `rest` into `name`; false at the end. */
static bool next_component(char *rest, char name[NAME_MAX + 1])
{
    size_t skip = strspn(rest, "/");
    size_t len = strcspn(rest + skip, "/");
    if (len == 0 || len > NAME_MAX) {
        name[0] = '\0';
        return len > 0;
    }
    memcpy(name, rest + skip, len);
    name[len] = '\0';
    memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
    return true;
}

/* One component: a directory is entered, a link's target put before what is left of the path.
 * Returns the final descriptor once `rest` is used up, -2 to go on, -1 with errno. */
static int step_into(struct open_path *trail, const char *name, char *rest, int flags,
                     unsigned *links)
{
    int dir = trail->fds[trail->depth];
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISLNK(st.st_mode)) {
        if (++*links > OCV_SYSROOT_LINKS_MAX) {
            errno = ELOOP;
            return -1;
        }
        char target[PATH_MAX];
        ssize_t n = readlinkat(dir, name, target, sizeof(target));
        size_t len = (size_t)n, left = strlen(rest);
        if (n < 0)
            return -1;
        if (len + 1 + left >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        while (len > 0 && target[0] == '/' && trail->depth > 0)
            trail_pop(trail);
        memmove(rest + len + 1, rest, left + 1);
        memcpy(rest, target, len);
        rest[len] = '/';
        return -2;
    }
    if (rest[strspn(rest, "/")] == '\0')
        return openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
    if (trail->depth == OCV_SYSROOT_DEPTH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    trail->fds[++trail->depth] = fd;
    return -2;
}

int ocv_sysroot_walk(int root, const char *path, int flags)
{
    struct open_path trail = {.fds = {root}};
    char rest[PATH_MAX];
    char name[NAME_MAX + 1];
    unsigned links = 0;
    int result = -2;

    size_t len = strlen(path);
    if (len >= sizeof(rest)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(rest, path, len + 1);
    while (result == -2 && next_component(rest, name)) {
        if (name[0] == '\0') {
            errno = ENAMETOOLONG;
            result = -1;
        } else if (strcmp(name, "..") == 0) {
            trail_pop(&trail);
        } else if (strcmp(name, ".") != 0) {
            result = step_into(&trail, name, rest, flags, &links);
        }
    }
    if (result == -2) /* the path ends in a directory reached by ".", ".." or a link to "/" */
        result = openat(trail.fds[trail.depth], ".", flags | O_CLOEXEC);
    int saved = errno;
    while (trail.depth > 0)
        trail_pop(&trail);
    errno = saved;
    return result;
}

int ocv_sysroot_openat(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
    /* ENOSYS: Linux before 5.6, qemu-user; EPERM: seccomp filters that do not know the call;
     * EAGAIN: another process renamed or mounted something meanwhile, and the path has ".." */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        return ocv_sysroot_walk(root, path, flags);
    return (int)fd;
}

static bool is_regular(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    errno = EBADFD;
    return false;
}

/* The file behind an O_PATH descriptor. EBADFD if it is not a regular one. */
static int reopen_handle(int handle, int root, const char *path)
{
    static const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    char link[32];
    if (!is_regular(handle))
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
    int fd = open(link, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = ocv_sysroot_openat(root, path,
                            flags); /* no /proc here: it is almost certainly the same file */
    if (fd >= 0 && !is_regular(fd)) {
        close(fd);
        errno = EBADFD;
        return -1;
    }
    return fd;
}

int ocv_sysroot_file(int root, const char *path)
{
    int handle = ocv_sysroot_openat(root, path, O_PATH);
    if (handle < 0)
        return -1;
    int fd = reopen_handle(handle, root, path);
    int saved = errno;
    close(handle);
    errno = saved;
    return fd;
}

int ocv_sysroot_read(int root, const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_fd int fd = ocv_sysroot_file(root, path);
    if (fd < 0 && errno == EBADFD)
        return ocv_error_set(err, OCV_ERR_IO, "/%s: not a regular file", path);
    if (fd < 0)
        return ocv_error_set(err,
                             errno == ENOENT || errno == ENOTDIR ? OCV_ERR_NOT_FOUND : OCV_ERR_IO,
                             "/%s: %s", path, strerror(errno));
    char name[PATH_MAX + 1];
    snprintf(name, sizeof(name), "/%s", path);
    return ocv_fd_read(fd, name, out, err);
}

bool ocv_sysroot_line(int root, const char *path, char *out, size_t size)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    if (ocv_sysroot_read(root, path, &text, NULL) < 0 || text.len == 0)
        return false;
    const char *end = memchr(text.data, '\n', text.len);
    size_t blanks = strspn(text.data, " \t");
    const char *start = text.data + blanks;
    size_t len = (end ? (size_t)(end - text.data) : text.len) - blanks;
    while (len > 0 && isspace((unsigned char)start[len - 1]))
        len--;
    if (len == 0 || len >= size)
        return false;
    for (size_t i = 0; i < len; i++)
        if (start[i] < 0x20 || start[i] > 0x7e)
            return false;
    memcpy(out, start, len);
    out[len] = '\0';
    return true;
}

DIR *ocv_sysroot_opendir(int root, const char *path)
{
    int fd = ocv_sysroot_openat(root, path, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

bool ocv_sysroot_directory(int root, const char *path)
{
    int fd = ocv_sysroot_openat(root, path, O_PATH | O_DIRECTORY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}
