/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/system/unix_socket.h"

#include "lib/base/file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define BACKLOG 1024

/* Its length, or 0: too long. */
static socklen_t set_address(const char *path, struct sockaddr_un *out)
{
    size_t len = strlen(path);
    if (len > OCV_UNIX_PATH_MAX)
        return 0;
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, len);
    if (*path != '@')
        return sizeof(*out);
    out->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* -1 with errno. */
static int connect_to(const struct sockaddr_un *address, socklen_t len, int flags,
                      unsigned patience_ms)
{
    const struct timeval patience = {.tv_sec = patience_ms / 1000,
                                     .tv_usec = (suseconds_t)(patience_ms % 1000) * 1000};
    int result, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0)
        return -1;
    if (patience_ms)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    do
        result = connect(fd, (const struct sockaddr *)address, len);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int ocv_unix_connect(const char *path, unsigned patience_ms, int *out, struct ocv_error *err)
{
    struct sockaddr_un address;
    socklen_t len = set_address(path, &address);
    *out = -1;
    if (!len)
        return ocv_error_set(err, OCV_ERR_INVALID, "socket path too long: %s", path);
    *out = connect_to(&address, len, 0, patience_ms);
    if (*out >= 0) {
        const struct timeval none = {0};
        (void)setsockopt(*out, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
        return OCV_OK;
    }
    int saved = errno;
    ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", path, strerror(saved));
    errno = saved;
    return OCV_ERR_NETWORK;
}

int ocv_unix_listen(const char *path, mode_t mode, mode_t directory_mode, int *out,
                    struct ocv_error *err)
{
    struct sockaddr_un address;
    char directory[OCV_UNIX_PATH_MAX + 1];
    const char *slash = strrchr(path, '/');
    int directories = 0; /* why the ones above could not be made */
    if (!set_address(path, &address))
        return ocv_error_set(err, OCV_ERR_CONFIG, "socket: path longer than %zu bytes: %s",
                             OCV_UNIX_PATH_MAX, path);
    if (slash && slash != path) {
        memcpy(directory, path, (size_t)(slash - path));
        directory[slash - path] = '\0';
        directories = ocv_directory_make(directory, directory_mode, NULL) < 0 ? errno : 0;
    }
    /* the socket of a process that was killed is removed */
    struct stat st;
    bool there = lstat(path, &st) == 0, used = there && !S_ISSOCK(st.st_mode);
    if (there && !used) {
        ocv_auto_fd int other = connect_to(&address, sizeof(address), SOCK_NONBLOCK, 0);
        used = other >= 0 || errno == EAGAIN; /* its backlog is full */
    }
    if (there && !used)
        (void)unlink(path);
    int fd = used ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (used)
        errno = EADDRINUSE;
    *out = fd;
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        chmod(path, mode) == 0 && listen(fd, BACKLOG) == 0)
        return OCV_OK;
    int saved = errno == ENOENT && directories ? directories : errno;
    ocv_fd_close(out);
    *out = -1;
    ocv_error_set(err, OCV_ERR_IO, "cannot listen on %s: %s", path, strerror(saved));
    errno = saved;
    return OCV_ERR_IO;
}
