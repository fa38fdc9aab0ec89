/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_FDS_START 3

void notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    if (len < 2 || len >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* abstract */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    (void)sent; /* a service manager that is gone is no reason to stop */
    close(fd);
}

/* A decimal number of the environment, or -1. */
static int64_t number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text)
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno || *end || value < 0 ? -1 : value;
}

int64_t notify_watchdog_ms(void)
{
    int64_t us = number("WATCHDOG_USEC"), pid = number("WATCHDOG_PID");
    if (us <= 0 || (pid >= 0 && pid != getpid()))
        return 0;
    return us / 2000 > 0 ? us / 2000 : 1;
}

int notify_listen_socket(int *fd, struct ocv_error *err)
{
    int64_t n = number("LISTEN_FDS");
    *fd = -1;
    if (n <= 0 || number("LISTEN_PID") != getpid())
        return OCV_OK;
    if (n > 1)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "socket activation passed %lld sockets, one unix socket is taken",
                             (long long)n);
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    int listening = 0;
    socklen_t option = sizeof(listening);
    if (getsockname(LISTEN_FDS_START, (struct sockaddr *)&address, &len) < 0 ||
        getsockopt(LISTEN_FDS_START, SOL_SOCKET, SO_ACCEPTCONN, &listening, &option) < 0 ||
        !listening || address.ss_family != AF_UNIX)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "socket activation passed something that is no listening unix socket; "
                             "the mirror's TCP port is never passed");
    fcntl(LISTEN_FDS_START, F_SETFD, FD_CLOEXEC);
    *fd = LISTEN_FDS_START;
    return OCV_OK;
}
