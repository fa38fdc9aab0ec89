/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user at the other end of a TCP connection within this machine. */
#ifndef VARIANTD_PEER_USER_H
#define VARIANTD_PEER_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** Asks the kernel (sock_diag), which knows the sockets of this network namespace. False:
 *  unknown. */
bool peer_user(int fd, uid_t *out);

#endif
