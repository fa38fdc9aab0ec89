/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/variantd.h"

#include "cmd/variantd/api/api.h"
#include "cmd/variantd/http/httpd.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/span.h"
#include "lib/internal/records/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) + 1)
#define THREADS_MAX 4 /* answers are short, and the node needs its CPUs for other work */

struct server {
    struct current current;
    struct httpd *mirror, *api, *tcp_metrics;
    struct connections mirror_peers, api_peers, metrics_peers;
    int held;                          /* the mirror's socket, also kept after closing */
    atomic_uint running[2];            /* requests that began before the stop, and after it */
    atomic_uint stopping;              /* 1 from then on */
    char socket_path[SOCKET_PATH_MAX]; /* of the API; empty for a passed one without a path */
    bool own_socket;                   /* remove it at the end */
    atomic_bool draining;
};

/* State of a mirror request from its first call to its last. */
struct http_request {
    struct instance *instance;
    unsigned began; /* which of `running` it is */
    void *inner;
};

struct current *server_current(struct server *server)
{
    return &server->current;
}

void server_tick(struct server *server)
{
    connections_tick(&server->mirror_peers, atomic_load(&server->draining));
    connections_tick(&server->api_peers, false);
    connections_tick(&server->metrics_peers, false);
    current_free_retired(&server->current);
}

struct body_framing {
    unsigned lengths;
    bool body;
};

static enum MHD_Result check_framing(void *cls, enum MHD_ValueKind kind, const char *key,
                                     const char *value)
{
    struct body_framing *framing = cls;
    (void)kind;
    if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
        framing->body = true;
    if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 &&
        (++framing->lengths > 1 || !value || strcmp(value, "0") != 0))
        framing->body = true;
    return MHD_YES;
}

static enum MHD_Result handle_request(void *cls, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **context)
{
    static char read_only[] = "{\"errors\":[{\"code\":\"UNSUPPORTED\",\"message\":"
                              "\"this registry is read only\"}]}\n";
    struct server *server = cls;
    struct http_request *request = *context;
    if (!request) {
        connections_mark(connection, true);
        /* A request that reads has no use for a body, and if two programs disagree about where it
         * ends, requests can be smuggled: close such a connection. */
        struct body_framing framing = {0};
        MHD_get_connection_values(connection, MHD_HEADER_KIND, check_framing, &framing);
        if (framing.body) {
            bool reading = !strcmp(method, "GET") || !strcmp(method, "HEAD");
            metrics_request(server->current.metrics, reading ? OUTCOME_BAD_REQUEST : OUTCOME_WRITE,
                            0, 0);
            struct MHD_Response *response = MHD_create_response_from_buffer(
                sizeof(read_only) - 1, read_only, MHD_RESPMEM_PERSISTENT);
            if (!response)
                return MHD_NO;
            MHD_add_response_header(response, "Content-Type", "application/json");
            MHD_add_response_header(response, "Connection", "close");
            MHD_add_response_header(response, "Allow", "GET, HEAD");
            enum MHD_Result result = MHD_queue_response(
                connection, reading ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_METHOD_NOT_ALLOWED, response);
            MHD_destroy_response(response);
            return result;
        }
        struct instance *instance = current_borrow(&server->current);
        bool foreign = foreign_request(connection, instance->settings);
        *context = request = foreign ? NULL : calloc(1, sizeof(*request));
        if (!request)
            current_return(&server->current, instance);
        if (foreign) {
            metrics_request(server->current.metrics, OUTCOME_BAD_REQUEST, 0, 0);
            return foreign_refuse(connection, server->current.metrics, "mirror");
        }
        if (!request)
            return MHD_NO;
        request->instance = instance;
        request->began = atomic_load(&server->stopping);
        atomic_fetch_add(&server->running[request->began], 1);
    }
    return mirror_handle(request->instance->mirror, connection, url, method, version, upload,
                         upload_size, &request->inner);
}

static void request_completed(void *cls, struct MHD_Connection *connection, void **context,
                              enum MHD_RequestTerminationCode why)
{
    struct server *server = cls;
    struct http_request *request = *context;
    connections_mark(connection, false);
    if (!request)
        return;
    mirror_completed(request->instance->mirror, connection, &request->inner, why);
    current_return(&server->current, request->instance);
    atomic_fetch_sub(&server->running[request->began], 1);
    free(request);
    *context = NULL;
}

/* Idle clients must leave descriptors for registry connections, so each listener gets only a part
 * of the limit. */
static unsigned share_of_places(unsigned most, unsigned sixteenths)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 16 * sixteenths >= most)
        return most;
    unsigned n = (unsigned)(files.rlim_cur / 16) * sixteenths;
    return n > 8 ? n : 8;
}

OCV_DEFINE_CLEANUP(server)

int server_new(struct instance *instance, struct metrics *metrics, const struct listening *mirror,
               int unix_fd, struct server **out, struct ocv_error *err)
{
    ocv_auto(server) server = calloc(1, sizeof(*server));
    if (!server) {
        if (mirror)
            close(mirror->fd);
        instance_free(instance);
        return ocv_error_nomem(err);
    }
    current_init(&server->current, instance, metrics);
    connections_init(&server->mirror_peers, share_of_places(SERVER_CONNECTIONS_MAX, 10));
    connections_init(&server->api_peers, share_of_places(API_CONNECTIONS_MAX, 1));
    connections_init(&server->metrics_peers, share_of_places(API_CONNECTIONS_MAX, 1));
    server->held = -1;

    const struct settings *settings = instance->settings;
    struct listening own = {.fd = -1}, metrics_own = {.fd = -1};
    if (!mirror) {
        OCV_TRY(listen_mirror(settings, -1, &own, err));
        mirror = &own;
    }
    server->current.port = mirror->port;
    server->current.address = strdup(mirror->address);
    server->held = fcntl(mirror->fd, F_DUPFD_CLOEXEC, 0);
    const struct httpd_calls calls = {handle_request, request_completed, connections_notify, server,
                                      &server->mirror_peers};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (unsigned)cpus;
    const struct httpd_limits limits = {threads, (unsigned)server->mirror_peers.max, HTTPD_STALL_S,
                                        HTTPD_HEAD_MAX};
    int status = httpd_new(mirror->fd, &calls, &limits, &server->mirror, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", mirror->address);
    if (!server->current.address)
        return ocv_error_nomem(err);

    int fd = unix_fd;
    if (fd < 0) {
        OCV_TRY(listen_unix(settings->socket_path, &fd, err));
        server->own_socket = true;
    }
    /* A socket that was passed may have another path than the configuration. */
    struct sockaddr_un address = {0};
    socklen_t len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.sun_family == AF_UNIX)
        memcpy(server->socket_path, address.sun_path, sizeof(address.sun_path));
    OCV_TRY(api_start(&server->current, fd, true, &server->api_peers, &server->api, err));
    if (settings->metrics_listen) {
        OCV_TRY(listen_tcp(settings->metrics_listen, -1, &metrics_own, err));
        OCV_TRY(api_start(&server->current, metrics_own.fd, false, &server->metrics_peers,
                          &server->tcp_metrics, err));
    }
    *out = ocv_steal(&server);
    return OCV_OK;
}

const char *server_socket(const struct server *server)
{
    return server->socket_path;
}

void server_stopping(struct server *server)
{
    atomic_store(&server->stopping, 1);
}

bool server_has_old_requests(const struct server *server)
{
    return atomic_load(&server->running[0]) > 0;
}

int server_drain(struct server *server)
{
    atomic_store(&server->draining, true);
    httpd_quiesce(server->mirror);
    server_tick(server);
    return server->held;
}

bool server_expects(struct server *server)
{
    return connections_any_fresh(&server->mirror_peers);
}

size_t server_connections(struct server *server, size_t *busy)
{
    return connections_count(&server->mirror_peers, busy);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    current_stop(&server->current);
    httpd_free(server->mirror);
    if (server->held >= 0)
        close(server->held);
    api_stop(server->api);
    api_stop(server->tcp_metrics);
    if (server->own_socket)
        unlink(server->socket_path);
    current_free(&server->current);
    connections_destroy(&server->mirror_peers);
    connections_destroy(&server->api_peers);
    connections_destroy(&server->metrics_peers);
    free(server);
}

/* Asks the daemon's own addresses. */

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
        "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nUser-Agent: " SELFCHECK_AGENT "\r\n"
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
    atomic_store(&server->mirror_peers.expected, from);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* also limits connect */
    bool ok = connect(fd, (struct sockaddr *)&address, len) == 0 &&
              send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1;
    size_t n = ok ? (size_t)(recv(fd, head, 12, MSG_WAITALL) + 1) : 0;
    close(fd);
    bool met = atomic_exchange(&server->mirror_peers.expected, 0) == 0;
    if (n > 1 && from && !met)
        return SELFCHECK_FOREIGN;
    return n == 13 && memcmp(head, "HTTP/1.1 200", 12) == 0 ? SELFCHECK_ALIVE : SELFCHECK_DEAD;
}

enum selfcheck selfcheck(struct server *server)
{
    enum selfcheck mirror = selfcheck_mirror(server, server->current.address, server->current.port);
    bool stirs = connections_stir(&server->mirror_peers);
    const char *path = server_socket(server);
    ocv_auto_buffer body;
    long status = 0;
    ocv_buffer_init(&body, API_HEALTH_MAX);
    bool api = !*path ||
               (ocv_daemon_get(path, "/v1/healthz", SELFCHECK_MS, &status, &body, NULL) == OCV_OK &&
                status == 200);
    if (!connections_stir(&server->api_peers) && !api)
        return SELFCHECK_DEAD;
    return mirror == SELFCHECK_DEAD && stirs ? SELFCHECK_ALIVE : mirror;
}
