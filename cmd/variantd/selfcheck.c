/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "selfcheck.h"

#include "settings_make.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Every thread of the pool accepts, so any answer tells that the pool lives; a new connection each
 * time finds out about accepting, too. */
static bool mirror_answers(unsigned port, const char *listen_address)
{
    static const char request[] =
        "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nUser-Agent: variantd-selfcheck\r\n"
        "Connection: close\r\n\r\n";
    struct sockaddr_storage address;
    socklen_t len;
    char head[16];
    if (settings_address(listen_address, &address, &len, NULL) < 0)
        return false;
    if (address.ss_family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in6 *)&address)->sin6_port = htons((uint16_t)port);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval limit = {.tv_sec = SELFCHECK_MS / 1000};
    bool ok = fd >= 0;
    if (ok) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect's, too */
        ok = connect(fd, (struct sockaddr *)&address, len) == 0 &&
             send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1 &&
             recv(fd, head, 12, MSG_WAITALL) == 12 && memcmp(head, "HTTP/1.1 200", 12) == 0;
        close(fd);
    }
    return ok;
}

static bool api_answers(const char *path)
{
    ocv_auto_buffer body;
    long status = 0;
    ocv_buffer_init(&body, 4096);
    return !*path ||
           (ocv_local_get(path, "/v1/healthz", SELFCHECK_MS, &status, &body, NULL) == OCV_OK &&
            status == 200);
}

bool selfcheck(struct server *server)
{
    bool mirror = mirror_answers(server_port(server), server_address(server));
    mirror = server_mirror_stirs(server) || mirror;
    bool api = api_answers(server_socket(server));
    return (server_api_stirs(server) || api) && mirror;
}
