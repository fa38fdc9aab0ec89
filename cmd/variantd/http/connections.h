/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections of one listener, from accept to close. Idle ones are watched here: libmicrohttpd's
 * timeout counts from the last byte, so a client that sends a byte a minute would never be dropped.
 * Any thread. */
#ifndef VARIANTD_CONNECTIONS_H
#define VARIANTD_CONNECTIONS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CONNECTIONS_IDLE_MS 60000      /**< without a request, or in the middle of its head */
#define CONNECTIONS_CROWD_IDLE_MS 2000 /**< the same when connections run out */

struct watched_connection;
struct connections {
    pthread_mutex_t lock;
    struct watched_connection *first;
    size_t n, max;
    uint64_t changes, seen; /* accepted and closed ones; at the last call of connections_stir */
    atomic_uint expected;   /* a client's port; 0: it has come, or none is */
};

/** `max`: how many the listener takes. */
void connections_init(struct connections *peers, size_t max);
/** No connection is left. */
void connections_destroy(struct connections *peers);
/** A client is about to come from this port of loopback; has it? */
void connections_expect(struct connections *peers, unsigned port);
bool connections_met(struct connections *peers);
/** libmicrohttpd's MHD_OPTION_NOTIFY_CONNECTION; `cls` is the peers. */
void connections_notify(void *cls, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode code);
/** A request begins, and has ended. */
void connections_busy(struct MHD_Connection *connection);
void connections_idle(struct MHD_Connection *connection);
/** The user whose share of the workers the connection's requests take: 0 for root, for our own
 * user, and where it is unknown. Call from the request's own thread. */
unsigned connections_client(struct MHD_Connection *connection);
/** Once a second: shut those that have had no request for too long; `all`: for any time. */
void connections_tick(struct connections *peers, bool all);
/** How many there are; `busy`: with a request that runs. */
size_t connections_count(struct connections *peers, size_t *busy);
/** True if nearly all places are in use and some connections came or went since the last call: the
 * server is busy, not stuck. */
bool connections_stir(struct connections *peers);

#endif
