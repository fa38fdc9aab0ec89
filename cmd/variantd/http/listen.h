/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets. */
#ifndef VARIANTD_LISTEN_H
#define VARIANTD_LISTEN_H

#include "cmd/variantd/common/settings.h"

/** A listening TCP socket. */
struct listening {
    int fd;
    const char *address; /**< as requested */
    unsigned port;       /**< the actual one */
};

/** Listen on "ADDRESS:PORT"; the text is kept. `kept`: a socket held earlier by listen_hold, or -1.
 *  It is used if it has that address, and then stays open whatever happens; else it is closed. */
int listen_tcp(const char *address, int kept, struct listening *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** The mirror's socket. Tries the other default address if permission for the first is missing.
 *  Warns if other users could take its place. */
int listen_mirror(const struct settings *settings, int kept, struct listening *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop accepting connections, but keep the address until the socket's last descriptor is
 *  closed. */
void listen_hold(int fd);
/** A listening unix socket with mode 0666 (every user may read a profile). A stale socket is
 *  replaced; OCV_ERR_IO if another daemon accepts connections on it. */
int listen_unix(const char *path, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
