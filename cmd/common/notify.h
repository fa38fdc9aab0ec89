/* SPDX-License-Identifier: GPL-3.0-or-later */
/* systemd's small protocols: readiness and watchdog (sd_notify(3)), passed sockets
 * (sd_listen_fds(3)). Implemented here because libsystemd is larger than the daemon itself, and
 * only one datagram is sent. The manual pages declare the protocol stable. */
#ifndef OCV_NOTIFY_H
#define OCV_NOTIFY_H

#include "ocivariant.h"

#include <stdint.h>

/** Send "READY=1" and the like; does nothing without NOTIFY_SOCKET. */
void notify_send(const char *state);
/** Half of the watchdog's interval in milliseconds, 0 without a watchdog. */
int64_t notify_watchdog_ms(void);
/** Let the service manager keep a descriptor for the next start of this service, under a name of
 *  letters. It closes the descriptor when the service is stopped. Does nothing without one. */
void notify_store(int fd, const char *name);
/** The descriptor stored under that name, or -1. The caller owns it; the service manager has it,
 *  too, until notify_forget. */
int notify_stored(const char *name);
/** Let the service manager drop what is stored under that name. */
void notify_forget(const char *name);
/** The listening unix socket that the service manager passed, -1 if there is none. Stored
 *  descriptors do not count. A TCP socket, or more than one socket, is an error: with socket
 *  activation every pull would wait while the daemon is down. */
int notify_listen_socket(int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
