/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The listeners: the mirror on loopback, the API on the unix socket, metrics on TCP where wanted.
 * libmicrohttpd does HTTP; this file gives it sockets, limits, and the instance to ask. */
#ifndef VARIANTD_SERVER_H
#define VARIANTD_SERVER_H

#include "cmd/variantd/http/listen.h"
#include "cmd/variantd/instance/current.h"

/** Open at once; past it new ones wait in the backlog. At most 10/16 of the files that may be open.
 */
#define SERVER_CONNECTIONS_MAX 12000u

struct server;

/** Listen and serve. `instance` is taken over, and so are sockets that listen already: `mirror`
 *  (NULL: as the settings say) and `unix_fd`, a passed one (or -1). Where the addresses are in use
 *  or not allowed: OCV_ERR_IO, which names them. */
int server_new(struct instance *instance, struct metrics *metrics, const struct listening *mirror,
               int unix_fd, struct server **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Requests that begin from now on use `instance`, which is taken over. Addresses stay. */
void server_replace(struct server *server, struct instance *instance);
/** The current one, for the thread that also replaces it. */
const struct instance *server_instance(const struct server *server);
/** Once a second: close idle connections, free instances that are no longer used. */
void server_tick(struct server *server);
/** Address of the mirror as it was configured at the start, and its port, also where the system
 *  chose it. */
const char *server_address(const struct server *server);
unsigned server_port(const struct server *server);
/** Path of the API's socket; empty for a passed one that has none. */
const char *server_socket(const struct server *server);
/** True if nearly all connections are in use and some came or went since the last call: the server
 * is busy, not stuck. */
bool server_mirror_stirs(struct server *server);
bool server_api_stirs(struct server *server);
/** A client of our own comes to the mirror from this port; was it let in by us? */
void server_expect(struct server *server, unsigned port);
bool server_met(struct server *server);
/** Take no new connection, and end those that have no request. The mirror's address is held until
 *  the end: returned is the socket that holds it, which stays the server's. */
int server_drain(struct server *server);
/** Connections of the mirror; `busy`: those with a request that runs. */
size_t server_connections(struct server *server, size_t *busy);
/** Has every request ended? */
bool server_idle(const struct server *server);
/** Stop and free. Running requests are cut. */
void server_free(struct server *server);

#endif
