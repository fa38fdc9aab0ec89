/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/workers.h"
#include "cmd/variantd/http/httpd.h"
#include "lib/base/clock.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct watched_connection {
    struct watched_connection *next, **link;
    int fd;
    atomic_int_fast64_t since; /* no request since then, monotonic ms; 0: one is running */
    atomic_bool asked;         /* there was a request */
    int client;                /* -1: not determined yet */
};

void connections_init(struct connections *p, size_t max)
{
    *p = (struct connections){.max = max};
    pthread_mutex_init(&p->lock, NULL);
}

void connections_destroy(struct connections *p)
{
    pthread_mutex_destroy(&p->lock);
}

void connections_notify(void *cls, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode code)
{
    struct connections *p = cls;
    struct watched_connection *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        unsigned expected = atomic_load_explicit(&p->expected, memory_order_relaxed);
        const union MHD_ConnectionInfo *info =
            expected ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
                     : NULL;
        if (info && address_port(info->client_addr) == expected)
            atomic_compare_exchange_strong(&p->expected, &expected, 0);
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = peer = calloc(1, sizeof(*peer));
        if (!peer)
            return; /* it is served, but not watched */
        peer->fd = info ? info->connect_fd : -1;
        peer->client = -1;
        atomic_init(&peer->since, ocv_clock_ms());
        atomic_init(&peer->asked, false);
        pthread_mutex_lock(&p->lock);
        peer->next = p->first;
        peer->link = &p->first;
        if (peer->next)
            peer->next->link = &peer->next;
        p->first = peer;
        p->n++;
        p->changes++;
        pthread_mutex_unlock(&p->lock);
    } else if (peer) {
        pthread_mutex_lock(&p->lock);
        *peer->link = peer->next;
        if (peer->next)
            peer->next->link = peer->link;
        p->n--;
        p->changes++;
        pthread_mutex_unlock(&p->lock);
        free(peer);
        *context = NULL;
    }
}

static struct watched_connection *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

#define ANSWER_MAX 8192

static void put_address(const struct sockaddr_storage *address, __be16 *port, __be32 out[4])
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET6) {
        *port = six->sin6_port;
        memcpy(out, &six->sin6_addr, sizeof(six->sin6_addr));
    } else {
        *port = four->sin_port;
        memcpy(out, &four->sin_addr, sizeof(four->sin_addr));
    }
}

/* The user at the other end of a TCP connection within this machine: asks the kernel (sock_diag),
 * which knows the sockets of this network namespace. False: unknown. */
static bool peer_user(int fd, uid_t *out)
{
    /* the peer's socket has the same two addresses as ours, in reverse */
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
    if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0 ||
        (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
        return false;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 what;
    } q = {.head = {.nlmsg_len = sizeof(q),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST},
           .what = {.sdiag_family = (__u8)peer.ss_family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = ~0u}};
    put_address(&peer, &q.what.id.idiag_sport, q.what.id.idiag_src);
    put_address(&own, &q.what.id.idiag_dport, q.what.id.idiag_dst);
    q.what.id.idiag_cookie[0] = q.what.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;

    char text[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlmsghdr *head = (const struct nlmsghdr *)text;
    int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (diag < 0)
        return false;
    /* the answer is ready when send returns */
    ssize_t n =
        send(diag, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? recv(diag, text, sizeof(text), 0) : -1;
    close(diag);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || head->nlmsg_len > (size_t)n ||
        head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    *out = ((const struct inet_diag_msg *)NLMSG_DATA(head))->idiag_uid;
    return true;
}

unsigned connections_client(struct MHD_Connection *connection)
{
    struct watched_connection *peer = peer_of(connection);
    uid_t user;
    if (!peer)
        return 0;
    if (peer->client < 0)
        peer->client = peer_user(peer->fd, &user) && user != 0 && user != geteuid()
                           ? (int)(1 + user % (WORKERS_CLIENTS_MAX - 1))
                           : 0;
    return (unsigned)peer->client;
}

void connections_mark(struct MHD_Connection *connection, bool busy)
{
    struct watched_connection *peer = peer_of(connection);
    if (!peer)
        return;
    atomic_store_explicit(&peer->since, busy ? 0 : ocv_clock_ms(), memory_order_relaxed);
    atomic_store_explicit(&peer->asked, true, memory_order_relaxed);
}

/* Its first request is on its way. */
static bool is_fresh(const struct watched_connection *peer, int64_t now)
{
    int64_t since = atomic_load_explicit(&peer->since, memory_order_relaxed);
    return since > 0 && now - since < CONNECTIONS_FRESH_MS &&
           !atomic_load_explicit(&peer->asked, memory_order_relaxed);
}

static bool is_crowded(const struct connections *p)
{
    return p->n > p->max - p->max / 8;
}

/* libmicrohttpd closes a socket after its shutdown. The lock keeps the descriptor from being closed
 * and reused meanwhile. */
void connections_tick(struct connections *p, bool all)
{
    int64_t now = ocv_clock_ms();
    pthread_mutex_lock(&p->lock);
    int64_t limit = all ? 0 : is_crowded(p) ? CONNECTIONS_CROWD_IDLE_MS : CONNECTIONS_IDLE_MS;
    for (struct watched_connection *peer = p->first; peer; peer = peer->next) {
        int64_t since = atomic_load_explicit(&peer->since, memory_order_relaxed);
        if (since > 0 && now - since >= limit && peer->fd >= 0 && !(all && is_fresh(peer, now)))
            shutdown(peer->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&p->lock);
}

size_t connections_count(struct connections *p, size_t *busy)
{
    *busy = 0;
    pthread_mutex_lock(&p->lock);
    size_t n = p->n;
    for (const struct watched_connection *peer = p->first; peer; peer = peer->next)
        *busy += atomic_load_explicit(&peer->since, memory_order_relaxed) == 0;
    pthread_mutex_unlock(&p->lock);
    return n;
}

bool connections_any_fresh(struct connections *p)
{
    int64_t now = ocv_clock_ms();
    bool any = false;
    pthread_mutex_lock(&p->lock);
    for (const struct watched_connection *peer = p->first; peer && !any; peer = peer->next)
        any = is_fresh(peer, now);
    pthread_mutex_unlock(&p->lock);
    return any;
}

bool connections_stir(struct connections *p)
{
    pthread_mutex_lock(&p->lock);
    bool stirs = is_crowded(p) && p->changes != p->seen;
    p->seen = p->changes;
    pthread_mutex_unlock(&p->lock);
    return stirs;
}
