/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which user is at the other end of a TCP connection within this machine. */
#ifndef VARIANTD_PEER_USER_H
#define VARIANTD_PEER_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** The kernel says it of sockets of our own network namespace (sock_diag). False: it does not. */
bool peer_user(int fd, uid_t *out);

#endif
