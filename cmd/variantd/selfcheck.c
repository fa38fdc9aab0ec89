/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/api/api.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/variantd.h"
#include "lib/base/format/span.h"
#include "lib/internal/records/daemon.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void set_port(struct sockaddr_storage *address, unsigned port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
}

/* Every thread of the pool accepts connections, so any answer shows that the pool works; a new
 * connection each time also tests accepting. If the peer answers but our listener has not accepted
 * the connection, another program has the address. */
enum selfcheck selfcheck_mirror(struct server *server, const char *listen_address, unsigned port)
{
    static const char request[] =
        "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nUser-Agent: variantd-selfcheck\r\n"
        "Connection: close\r\n\r\n";
    struct sockaddr_storage address, client;
    socklen_t len;
    char head[16];
    if (!ocv_address_parse(listen_address, &address, &len))
        return SELFCHECK_DEAD;
    client = address;
    set_port(&address, port);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval limit = {.tv_sec = SELFCHECK_MS / 1000};
    if (fd < 0)
        return SELFCHECK_DEAD;
    /* the port from which it will connect; 0: unknown */
    unsigned from = 0;
    socklen_t client_len = len;
    set_port(&client, 0);
    if (bind(fd, (struct sockaddr *)&client, len) == 0 &&
        getsockname(fd, (struct sockaddr *)&client, &client_len) == 0)
        from = address_port((struct sockaddr *)&client);
    server_expect(server, from);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* also limits connect */
    bool ok = connect(fd, (struct sockaddr *)&address, len) == 0 &&
              send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1;
    size_t n = ok ? (size_t)(recv(fd, head, 12, MSG_WAITALL) + 1) : 0;
    close(fd);
    bool met = server_met(server);
    if (n > 1 && from && !met)
        return SELFCHECK_FOREIGN;
    return n == 13 && memcmp(head, "HTTP/1.1 200", 12) == 0 ? SELFCHECK_ALIVE : SELFCHECK_DEAD;
}

enum selfcheck selfcheck(struct server *server)
{
    enum selfcheck mirror = selfcheck_mirror(server, server_address(server), server_port(server));
    bool stirs = server_mirror_stirs(server);
    const char *path = server_socket(server);
    ocv_auto_buffer body;
    long status = 0;
    ocv_buffer_init(&body, API_HEALTH_MAX);
    bool api = !*path ||
               (ocv_daemon_get(path, "/v1/healthz", SELFCHECK_MS, &status, &body, NULL) == OCV_OK &&
                status == 200);
    if (!server_api_stirs(server) && !api)
        return SELFCHECK_DEAD;
    return mirror == SELFCHECK_DEAD && stirs ? SELFCHECK_ALIVE : mirror;
}
