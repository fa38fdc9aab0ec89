/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Stream sockets with a path. Both functions close on exec what they open. A path that is too long
 * is OCV_ERR_CONFIG where we listen, OCV_ERR_INVALID where we connect; errno says why anything else
 * failed. */
#ifndef OCV_UNIX_SOCKET_H
#define OCV_UNIX_SOCKET_H

#include "ocivariant/error.h"

#include <sys/types.h>
#include <sys/un.h>

#define OCV_UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1) /**< bytes */

/** Listen at `path`, without blocking in accept. The socket of a process that was killed is
 * replaced; one that answers is EADDRINUSE, and so is a file that is not a socket. The socket gets
 * `mode` before anybody can connect. Missing directories are made, with `directory_mode` (0: the
 * umask's). OCV_ERR_IO "cannot listen on PATH: <errno>". */
int ocv_unix_listen(const char *path, mode_t mode, mode_t directory_mode, int *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/** Connect a blocking socket; a path that starts with "@" is a name without a file (abstract).
 * EAGAIN: the other side's backlog was full for `patience_ms` (0: wait for ever). OCV_ERR_NETWORK
 *  "PATH: <errno>". */
int ocv_unix_connect(const char *path, unsigned patience_ms, int *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
