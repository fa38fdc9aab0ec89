/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets. */
#ifndef VARIANTD_LISTEN_H
#define VARIANTD_LISTEN_H

#include "ocivariant.h"

/** A listening TCP socket for "ADDRESS:PORT"; `*port` is the real one. */
int listen_tcp(const char *address, int *fd, unsigned *port, struct ocv_error *err) OCV_WARN_UNUSED;
/** A listening unix socket, mode 0666 (everyone may read a profile). A socket that nobody answers
 *  on is replaced; one that answers is another daemon's: OCV_ERR_IO. */
int listen_unix(const char *path, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
