/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX 8192

struct socket_query {
    struct nlmsghdr head;
    struct inet_diag_req_v2 what;
};

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

/* The peer's socket has the same two addresses as ours, in reverse. */
static bool ask_kernel(int fd, struct socket_query *q)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
    if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0 ||
        (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
        return false;
    q->head = (struct nlmsghdr){
        .nlmsg_len = sizeof(*q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST};
    q->what = (struct inet_diag_req_v2){
        .sdiag_family = (__u8)peer.ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u};
    put_address(&peer, &q->what.id.idiag_sport, q->what.id.idiag_src);
    put_address(&own, &q->what.id.idiag_dport, q->what.id.idiag_dst);
    q->what.id.idiag_cookie[0] = q->what.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return true;
}

bool peer_user(int fd, uid_t *out)
{
    struct socket_query q = {0};
    char text[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlmsghdr *head = (const struct nlmsghdr *)text;
    if (!ask_kernel(fd, &q))
        return false;
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
