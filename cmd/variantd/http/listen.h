/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets. */
#ifndef VARIANTD_LISTEN_H
#define VARIANTD_LISTEN_H

#include "cmd/variantd/common/settings.h"

/** A listening TCP socket. */
struct listening {
    int fd;
    const char *address; /**< as it was asked for */
    unsigned port;       /**< the real one */
};

/** For "ADDRESS:PORT", which is kept. `kept`: a socket of listen_hold's from before, or -1; it is
 *  taken over, and used where it has that address. */
int listen_tcp(const char *address, int kept, struct listening *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** The mirror's, with the other default where the first one needs a right that is missing. Warns
 *  where other users could take its place. */
int listen_mirror(const struct settings *settings, int kept, struct listening *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Accept no more connections, but keep the address until the last descriptor of
 *  it is closed. */
void listen_hold(int fd);
/** A listening unix socket, mode 0666 (every user may read a profile). A stale socket is replaced;
 * one that accepts connections belongs to another daemon: OCV_ERR_IO. */
int listen_unix(const char *path, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
