/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket that containerd dials, and directories that are not there yet. */
#include "plugins/containerd/snapshotter/service/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

int snap_directories_make(const char *path, struct ocv_error *err)
{
    char *copy = strdup(path);
    int status = copy ? OCV_OK : ocv_error_nomem(err);
    for (char *p = copy ? copy + 1 : NULL; status == OCV_OK && p; p++) {
        p = strchr(p, '/');
        if (p)
            *p = '\0';
        if (*copy && mkdir(copy, p ? 0755 : 0700) < 0 && errno != EEXIST)
            status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", copy, strerror(errno));
        if (!p)
            break;
        *p = '/';
    }
    free(copy);
    return status;
}

int snap_socket_listen(const char *path, int *out, struct ocv_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(path) >= sizeof(address.sun_path))
        return ocv_error_set(err, OCV_ERR_CONFIG, "socket path too long: %s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    char *directory = strdup(path), *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash && slash > directory) {
        *slash = '\0';
        if (snap_directories_make(directory, err) < 0) {
            free(directory);
            return OCV_ERR_IO;
        }
    }
    free(directory);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
            close(fd);
            return ocv_error_set(err, OCV_ERR_IO, "%s: address already in use", path);
        }
        (void)unlink(path); /* of one that was killed */
    }
    mode_t before = umask(0177);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              listen(fd, BACKLOG) == 0;
    umask(before);
    if (!ok) {
        int status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    *out = fd;
    return OCV_OK;
}
