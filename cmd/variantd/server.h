/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The listeners: the mirror on loopback, the API on the unix socket, metrics on TCP if configured.
 * libmicrohttpd does HTTP; this file provides sockets, limits, and the instance to ask. */
#ifndef VARIANTD_SERVER_H
#define VARIANTD_SERVER_H

#include "cmd/variantd/http/listen.h"
#include "cmd/variantd/instance/current.h"

/** Connections open at the same time; further ones wait in the backlog. At most 10/16 of the
 *  descriptor limit. */
#define SERVER_CONNECTIONS_MAX 12000u

struct server;

/** Listen and serve. Takes over `instance` and sockets that listen already: `mirror` (NULL: as in
 *  the settings) and `unix_fd`, a passed one (or -1). OCV_ERR_IO, naming the address, if it is in
 *  use or not permitted. */
int server_new(struct instance *instance, struct metrics *metrics, const struct listening *mirror,
               int unix_fd, struct server **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** New requests use `instance`, which is taken over. Addresses stay. */
void server_replace(struct server *server, struct instance *instance);
/** The current instance, for the thread that also replaces it. */
const struct instance *server_instance(const struct server *server);
/** Call once a second: close idle connections, free unused instances. */
void server_tick(struct server *server);
/** The mirror's address as configured at the start, and its port, even if the system chose it. */
const char *server_address(const struct server *server);
unsigned server_port(const struct server *server);
/** Path of the API's socket; empty for a passed one without a path. */
const char *server_socket(const struct server *server);
/** True if nearly all connections are in use and some opened or closed since the last call: the
 *  server is busy, not stuck. */
bool server_mirror_stirs(struct server *server);
bool server_api_stirs(struct server *server);
/** Our own client connects to the mirror from this port; server_met: did our listener accept it? */
void server_expect(struct server *server, unsigned port);
bool server_met(struct server *server);
/** Accept no new connections, and close those without a request. The mirror's address stays taken:
 *  returns the socket that holds it, which the server owns. */
int server_drain(struct server *server);
/** Number of the mirror's connections; `busy`: of those with a running request. */
size_t server_connections(struct server *server, size_t *busy);
/** True if every request has ended. */
bool server_idle(const struct server *server);
/** Stop and free. Running requests are cut off. */
void server_free(struct server *server);

#endif
