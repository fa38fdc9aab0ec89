/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/httpd.h"

#include "cmd/common/daemons.h"
#include "cmd/variantd/common/log.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/span.h"
#include "lib/base/system/unix_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 1024
/* Nothing is lost on loopback. A machine's default may send at a pace of its own (BBR): its timer
 * for each segment is a sixth of all work on a blob. Every kernel has this one. */
#define UNPACED "reno"

/* OCV_ERR_IO with errno. */
static int fail_and_close(int fd, const char *what, struct ocv_error *err)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    ocv_error_set(err, OCV_ERR_IO, "cannot listen on %s: %s", what, strerror(saved));
    if (saved == EADDRINUSE)
        ocv_error_hint(err, "another variantd, or another program, is using it");
    errno = saved;
    return OCV_ERR_IO;
}

unsigned address_port(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    return address->sa_family == AF_INET    ? ntohs(four->sin_port)
           : address->sa_family == AF_INET6 ? ntohs(six->sin6_port)
                                            : 0;
}

/* A kept socket listens again. Connections that ended on our side stand in its way for a minute,
 * in TIME_WAIT. They let it pass if they and it have SO_REUSEPORT, as does nobody of another user.
 * Any that do not (another version's, or half closed) let it pass with SO_REUSEADDR; so would a
 * socket of another user be bound, hence this only here, with listen(2) as the next call. */
static int listen_again(int fd)
{
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (listen(fd, BACKLOG) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (listen(fd, BACKLOG) == 0)
        return 0;
    int saved = errno;
    listen_hold(fd);
    errno = saved;
    return -1;
}

int listen_tcp(const char *address, int kept, struct listening *out, struct ocv_error *err)
{
    struct sockaddr_storage where;
    socklen_t len;
    int one = 1;
    bool good = ocv_address_parse(address, &where, &len);
    /* The service manager may have stored a socket for this address: no other program could take
     * the address in between. */
    struct sockaddr_storage its = {0};
    socklen_t its_len = sizeof(its);
    bool again = good && kept >= 0 && getsockname(kept, (struct sockaddr *)&its, &its_len) == 0 &&
                 its_len == len && memcmp(&its, &where, len) == 0;
    if (kept >= 0 && !again)
        close(kept);
    if (!good)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.100s' is not " OCV_ADDRESS_FORM, address);
    int fd = again ? kept : socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail_and_close(fd, address, err);
    /* accepted sockets inherit both */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (ocv_address_is_loopback(&where))
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, UNPACED, strlen(UNPACED));
    /* over connections of before that still wait for their end; in a socket that was kept only once
     * it listens, or others could bind to the same address until then */
    if (!again)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (again ? listen_again(fd) < 0
              : bind(fd, (struct sockaddr *)&where, len) < 0 || listen(fd, BACKLOG) < 0 ||
                    getsockname(fd, (struct sockaddr *)&where, &len) < 0) {
        /* all configured engines ask whatever program listens there */
        struct listener who;
        int saved = errno;
        (void)fail_and_close(again ? -1 : fd, address, err);
        if (saved == EADDRINUSE && listener_find(&where, &who))
            ocv_error_hint(err,
                           "a program of user %u listens there; unless it is variantd, it answers "
                           "what engines ask this node's mirror: `ss -ltnp` names it",
                           (unsigned)who.uid);
        errno = saved;
        return OCV_ERR_IO;
    }
    /* accepted sockets inherit both; see listen_again() */
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (again)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    *out = (struct listening){fd, address, address_port((struct sockaddr *)&where)};
    return OCV_OK;
}

bool listen_resume(int fd)
{
    return listen_again(fd) == 0;
}

void listen_hold(int fd)
{
    int none = 0;
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &none, sizeof(none));
    /* A port that accepts without being served would make clients wait. Not shutdown(2): of a
     * socket that does not listen, all that it accepts later would be shut down, too. */
    (void)connect(fd, &nobody, sizeof(nobody));
}

int listen_mirror(const struct settings *settings, int kept, struct listening *out,
                  struct ocv_error *err)
{
    int status = listen_tcp(settings->listen_address, kept, out, err);
    if (status == OCV_ERR_IO && (errno == EACCES || errno == EPERM) && settings->listen_default) {
        if (err)
            *err = (struct ocv_error){0};
        status = listen_tcp(OCV_LISTEN_UNPRIVILEGED, -1, out, err);
        if (status == OCV_OK)
            log_line(LOG_LEVEL_WARNING,
                     OCV_LISTEN " needs CAP_NET_BIND_SERVICE: " OCV_LISTEN_UNPRIVILEGED " instead");
    }
    /* the first port that any user may bind to */
    char first[16];
    ocv_auto_file FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
    if (!file || !fgets(first, sizeof(first), file))
        snprintf(first, sizeof(first), "1024");
    if (status == OCV_OK && settings->listen_default && out->port >= strtoul(first, NULL, 10))
        log_line(LOG_LEVEL_WARNING,
                 "port %u can be taken by any user of this machine while variantd is not running, "
                 "to answer its engines' pulls",
                 out->port);
    return status;
}

int listen_unix(const char *path, int *out, struct ocv_error *err)
{
    int status = ocv_unix_listen(path, 0666, 0, out, err);
    if (status == OCV_ERR_IO)
        ocv_error_hint(err, "%s",
                       errno == EADDRINUSE ? "another variantd, or another program, is using it"
                                           : "--socket PATH names another place");
    if (status == OCV_OK) {
        /* A user who may write to the directory can replace the socket. */
        char directory[OCV_UNIX_PATH_MAX + 1];
        struct stat st;
        snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path + 1), path);
        if (stat(directory, &st) == 0 &&
            ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH))))
            log_line(LOG_LEVEL_WARNING,
                     "%s: other users may write there, and so serve a profile and verdicts in "
                     "variantd's place",
                     directory);
    }
    return status;
}
