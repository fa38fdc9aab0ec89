/* SPDX-License-Identifier: GPL-3.0-or-later */
/* systemd's small protocols: readiness and watchdog (sd_notify(3)), passed sockets
 * (sd_listen_fds(3)). Written here because libsystemd brings more than the daemon's own size for
 * sending one datagram; their manual pages say that the protocol is stable for this purpose. */
#ifndef OCV_NOTIFY_H
#define OCV_NOTIFY_H

#include "ocivariant.h"

#include <stdint.h>

/** Send "READY=1" and the like; does nothing without NOTIFY_SOCKET. */
void notify_send(const char *state);
/** Half of the watchdog's time in milliseconds, 0 without one. */
int64_t notify_watchdog_ms(void);
/** Have the service manager keep a descriptor for who comes after us, under a name of letters; it
 *  is given up with the service. Without one nothing happens. */
void notify_store(int fd, const char *name);
/** What was kept under that name, or -1; it is the caller's, and not kept any more. */
int notify_stored(const char *name);
/** The one listening unix socket that was passed beside what was kept, -1 if there is none. A TCP
 * socket, or more than one, is an error: whoever holds the mirror's port while the daemon is down
 * makes every pull wait for it. */
int notify_listen_socket(int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
