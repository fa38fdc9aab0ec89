/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process that listens on a TCP port of this machine. */
#ifndef OCV_LISTENER_H
#define OCV_LISTENER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct listener {
    uid_t uid;           /**< owner of the socket, as the kernel reports it */
    unsigned long inode; /**< of the socket */
};

/** Find the process that listens on this address (IPv4 or IPv6, with its port). False if there is
 *  none, or the kernel does not show it. */
bool listener_find(const struct sockaddr_storage *address, struct listener *out);

#endif
