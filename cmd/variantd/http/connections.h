/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections of one listener, from accept to close. This file closes idle ones: libmicrohttpd's
 * timeout restarts with every byte, so a client that sends a byte a minute would stay forever. Any
 * thread. */
#ifndef VARIANTD_CONNECTIONS_H
#define VARIANTD_CONNECTIONS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CONNECTIONS_IDLE_MS 60000      /**< without a complete request */
#define CONNECTIONS_CROWD_IDLE_MS 2000 /**< the same when connections run out */

struct watched_connection;
struct connections {
    pthread_mutex_t lock;
    struct watched_connection *first;
    size_t n, max;
    uint64_t changes, seen; /* opened and closed; the number at the last connections_stir */
    atomic_uint expected;   /* a client's port; 0: it has connected, or none is expected */
};

/** `max`: the listener's limit. */
void connections_init(struct connections *peers, size_t max);
/** Call without open connections. */
void connections_destroy(struct connections *peers);
/** A client is going to connect from this loopback port; connections_met: has it done so? */
void connections_expect(struct connections *peers, unsigned port);
bool connections_met(struct connections *peers);
/** libmicrohttpd's MHD_OPTION_NOTIFY_CONNECTION; `cls` is the struct connections. */
void connections_notify(void *cls, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode code);
/** A request begins; connections_idle: it has ended. */
void connections_busy(struct MHD_Connection *connection);
void connections_idle(struct MHD_Connection *connection);
/** The user to whom the workers count the connection's requests: 0 for root, for the daemon's own
 *  user, and if unknown. Call from the request's own thread. */
unsigned connections_client(struct MHD_Connection *connection);
/** Call once a second: close connections without a request for too long; `all`: all idle ones. */
void connections_tick(struct connections *peers, bool all);
/** Number of connections; `busy`: of those with a running request. */
size_t connections_count(struct connections *peers, size_t *busy);
/** True if nearly all connections are in use and some opened or closed since the last call: the
 *  server is busy, not stuck. */
bool connections_stir(struct connections *peers);

#endif
