/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_FDS_START 3
#define PASSED_MAX 64 /* our units never get more */

/* `fd_to_send`: a descriptor to send along, or -1. */
static void send_to_manager(const char *state, int fd_to_send)
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
    struct iovec text = {(char *)(uintptr_t)state, strlen(state)};
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen =
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len),
                             .msg_iov = &text,
                             .msg_iovlen = 1};
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
    if (fd_to_send >= 0) {
        message.msg_control = room;
        message.msg_controllen = sizeof(room);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd_to_send, sizeof(int));
    }
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    (void)sent; /* a missing service manager is not a reason to stop */
    close(fd);
}

void notify_send(const char *state)
{
    send_to_manager(state, -1);
}

/* A decimal number of the environment, or -1. */
static int64_t read_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text)
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno || *end || value < 0 ? -1 : value;
}

bool notify_keeps(void)
{
    const char *manager = getenv("NOTIFY_SOCKET");
    const char *room = getenv("FDSTORE"); /* of systemd 254; before, what only systemd sets */
    return manager && *manager && (room ? strcmp(room, "0") != 0 : getenv("INVOCATION_ID") != NULL);
}

int64_t notify_watchdog_ms(void)
{
    int64_t us = read_number("WATCHDOG_USEC"), pid = read_number("WATCHDOG_PID");
    if (us <= 0 || (pid >= 0 && pid != getpid()))
        return 0;
    return us / 2000 > 0 ? us / 2000 : 1;
}

#define STORED \
    "stored-" /* prefix of the names of stored descriptors; variantd.service has it, too */

void notify_store(int fd, const char *name)
{
    char text[128]; /* not polled: a bound socket that does not listen looks hung up */
    snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=" STORED "%.60s", name);
    if (fd >= 0)
        send_to_manager(text, fd);
}

static int64_t count_passed(void)
{
    int64_t n = read_number("LISTEN_FDS");
    return n <= 0 || n > PASSED_MAX || read_number("LISTEN_PID") != getpid() ? 0 : n;
}

/* True if the i-th name in LISTEN_FDNAMES is `wanted`, or begins with it when it ends with "-". */
static bool is_named(int64_t i, const char *wanted)
{
    const char *at = getenv("LISTEN_FDNAMES");
    for (; at && i > 0; i--)
        at = (at = strchr(at, ':')) ? at + 1 : NULL;
    size_t n = strlen(wanted);
    return at && strncmp(at, wanted, n) == 0 &&
           (wanted[n - 1] == '-' || at[n] == ':' || at[n] == '\0');
}

int notify_stored(const char *name)
{
    char full[80];
    snprintf(full, sizeof(full), STORED "%.60s", name);
    int64_t i = 0, n = count_passed();
    while (i < n && !is_named(i, full))
        i++;
    if (i == n)
        return -1;
    int fd = LISTEN_FDS_START + (int)i;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

void notify_forget(const char *name)
{
    char text[128];
    snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=" STORED "%.60s", name);
    notify_send(text);
}

int notify_listen_socket(int *fd, struct ocv_error *err)
{
    int64_t all = count_passed(), n = 0;
    int at = -1;
    *fd = -1;
    for (int64_t i = 0; i < all; i++)
        if (!is_named(i, STORED)) {
            at = LISTEN_FDS_START + (int)i;
            n++;
        }
    if (n == 0)
        return OCV_OK;
    if (n > 1)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "socket activation passed %lld sockets; expected one unix socket",
                             (long long)n);
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    int listening = 0;
    socklen_t option = sizeof(listening);
    if (getsockname(at, (struct sockaddr *)&address, &len) < 0 ||
        getsockopt(at, SOL_SOCKET, SO_ACCEPTCONN, &listening, &option) < 0 || !listening ||
        address.ss_family != AF_UNIX)
        return ocv_error_set(
            err, OCV_ERR_CONFIG,
            "socket activation passed something other than a listening unix socket; "
            "the mirror's TCP port cannot be socket-activated");
    fcntl(at, F_SETFD, FD_CLOEXEC);
    *fd = at;
    return OCV_OK;
}
