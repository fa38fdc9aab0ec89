/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "listen.h"

#include "settings_make.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

static int fail(int fd, const char *what, struct ocv_error *err)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    ocv_error_set(err, OCV_ERR_IO, "cannot listen on %s: %s", what, strerror(saved));
    if (saved == EADDRINUSE)
        ocv_error_hint(err, "another variantd, or another program, is using it");
    return OCV_ERR_IO;
}

int listen_tcp(const char *address, int *out, unsigned *port, struct ocv_error *err)
{
    struct sockaddr_storage where;
    socklen_t len;
    int one = 1, status = settings_address(address, &where, &len, err);
    if (status < 0)
        return status;
    int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(fd, address, err);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* accepted ones inherit it */
    if (bind(fd, (struct sockaddr *)&where, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&where, &len) < 0)
        return fail(fd, address, err);
    *port = where.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&where)->sin_port)
                                       : ntohs(((struct sockaddr_in6 *)&where)->sin6_port);
    *out = fd;
    return OCV_OK;
}

/* Does somebody answer there? */
static bool in_use(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool used = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
                errno == EAGAIN; /* its backlog is full */
    close(fd);
    return used;
}

/* The folder is the service manager's to make; by hand a missing last part is made. Returns why it
 * could not be, or 0. */
static int make_folder(const char *path)
{
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n == 0 || n >= sizeof(folder))
        return 0;
    memcpy(folder, path, n);
    folder[n] = '\0';
    return mkdir(folder, 0755) < 0 && errno != EEXIST ? errno : 0;
}

int listen_unix(const char *path, int *out, struct ocv_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    size_t len = strlen(path);
    if (len >= sizeof(address.sun_path))
        return ocv_error_set(err, OCV_ERR_CONFIG, "socket: path longer than %zu bytes: %s",
                             sizeof(address.sun_path) - 1, path);
    memcpy(address.sun_path, path, len + 1);
    int folder = make_folder(path);
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode) || in_use(&address)) {
            errno = EADDRINUSE;
            return fail(-1, path, err);
        }
        unlink(path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
        errno = errno == ENOENT && folder ? folder : errno; /* what bind misses was not made */
        (void)fail(fd, path, err);
        if (err && !err->hint[0])
            ocv_error_hint(err, "--socket PATH names another place");
        return OCV_ERR_IO;
    }
    *out = fd;
    return OCV_OK;
}
