/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections of one listener, known from accept to close. Those without a running request are
 * watched: libmicrohttpd's timeout counts from the last byte, and a client that sends one byte a
 * minute would stay for ever. Any thread. */
#ifndef VARIANTD_PEERS_H
#define VARIANTD_PEERS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PEERS_IDLE_MS 60000      /**< without a request, or in the middle of its head */
#define PEERS_CROWD_IDLE_MS 2000 /**< the same when connections run out */

struct peer;
struct peers {
    pthread_mutex_t lock;
    struct peer *first;
    size_t n, max;
    uint64_t changes, seen; /* accepted and closed ones; at the last call of peers_stir */
    atomic_uint expected;   /* a client's port; 0: it has come, or none is */
};

/** `max`: how many the listener takes. */
void peers_init(struct peers *peers, size_t max);
/** No connection is left. */
void peers_destroy(struct peers *peers);
/** A client is about to come from this port of loopback; has it? */
void peers_expect(struct peers *peers, unsigned port);
bool peers_met(struct peers *peers);
/** libmicrohttpd's MHD_OPTION_NOTIFY_CONNECTION; `cls` is the peers. */
void peers_notify(void *cls, struct MHD_Connection *connection, void **context,
                  enum MHD_ConnectionNotificationCode code);
/** A request begins, and has ended. */
void peers_busy(struct MHD_Connection *connection);
void peers_idle(struct MHD_Connection *connection);
/** Whose share of the workers the connection's requests take: 0 for root, for our own user, and
 *  where it cannot be told. By a request's own thread. */
unsigned peers_client(struct MHD_Connection *connection);
/** Once a second: shut those that have had no request for too long; `all`: for any time. */
void peers_tick(struct peers *peers, bool all);
/** Nearly as many as there may be, and some have come or gone since the last call: who waits to be
 *  accepted waits for a crowd, not for something that hangs. */
bool peers_stir(struct peers *peers);

#endif
