/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's state: its options and its running parts. main.c has the order of operations. */
#ifndef VARIANTD_H
#define VARIANTD_H

#include "cmd/common/cli.h"
#include "cmd/variantd/common/settings.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/instance/instance.h"

#include <pthread.h>
#include <signal.h>

/** Name of the stored mirror socket at the service manager. */
#define MIRROR_SOCKET "mirror"
/** How long clients wait in the backlog of the stored socket: at most so long before the old daemon
 *  has ended, and so long until the new one serves. Beside them is RestartSec=1 of the unit, where
 *  nobody asked for the restart: 3 seconds in all. */
#define START_QUEUE_MS 1000

/** The socket that was kept over a restart. Zero-initialised by restart_begin. */
struct restart {
    int fd, kept; /* the same socket; `kept` goes to listen_mirror; -1: none was kept */
    bool held;    /* it refuses clients until the daemon serves */
    bool started, over;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};
/** Call first of all: from now on clients wait no longer than START_QUEUE_MS. Signals are blocked.
 */
void restart_begin(struct restart *restart);
/** listen_mirror with the socket that was kept. */
int restart_listen(struct restart *restart, const struct settings *settings, struct listening *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The daemon serves now. False, with errno: another program has the address. */
bool restart_serves(struct restart *restart);
/** A socket that is not served refuses clients, and is left to the next start. */
void restart_free(struct restart *restart);

struct daemon {
    struct cli cli;
    struct restart restart;
    struct ocv_option_list registries, layouts;
    char records[4096], profile[PATH_MAX];
    struct settings_flags flags;
    bool check;                       /* --check */
    const char *report;               /* --setup-report */
    bool announce;                    /* --announce kubernetes */
    struct announcer *announcer;      /* or NULL */
    const char *startup_taint;        /* --startup-taint; NULL: none */
    int64_t taint_after_ms;           /* --startup-taint-after; 0: of this node, at once */
    struct taint_remover *taints;     /* or NULL */
    const struct instance *announced; /* the last one announced */
    uint64_t announced_generation;
    struct metrics *metrics;
    struct server *server;
    int64_t watchdog_ms, watchdog_due;
    bool foreign;                    /* another program answers at our address */
    const struct instance *verified; /* the instance for which records were checked last */
    uint64_t verified_generation;
};

/** Returns an exit code, or -1 to go on. */
int daemon_read_options(struct daemon *d, int argc, char **argv);
/** Read configuration files and flags again. */
int daemon_read_settings(struct daemon *d, struct settings **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** Start everything, up to a server that answers. */
int daemon_start(struct daemon *d, struct ocv_error *err) OCV_WARN_UNUSED;
/** Log it if this node serves no variants. */
void daemon_log_choose(const struct ocv_config *config);

/** Read everything that a start would read, without opening a socket, like `nginx -t`. Returns the
 *  exit code. */
int daemon_check(struct daemon *d);

/** Serve until a signal ends it; `signals` are blocked. Returns the exit code. */
int daemon_serve(struct daemon *d, const sigset_t *signals);

/* Checks that the daemon still answers, by asking it as a client. */

#define SELFCHECK_MS 2000

enum selfcheck {
    SELFCHECK_ALIVE,
    SELFCHECK_FOREIGN, /**< another program answers at the mirror's address */
    SELFCHECK_DEAD,
};

/** GET /v2/ on the mirror's port and /v1/healthz on the socket, each within SELFCHECK_MS. A moving
 *  queue of clients counts as an answer: clients must not be able to make the daemon look hung. */
enum selfcheck selfcheck(struct server *server);
/** Only the mirror's part, at an address and a port. */
enum selfcheck selfcheck_mirror(struct server *server, const char *listen_address, unsigned port);

/* The listeners: the mirror on loopback, the API on the unix socket, metrics on TCP if configured.
 * libmicrohttpd does HTTP; this file provides sockets, limits, and the instance to ask. */

/** Connections open at the same time; further ones wait in the backlog. At most 10/16 of the
 *  descriptor limit. */
#define SERVER_CONNECTIONS_MAX 12000u

struct current;
struct server;

/** Listen and serve. Takes over `instance` and sockets that listen already: `mirror` (NULL: as in
 *  the settings) and `unix_fd`, a passed one (or -1). OCV_ERR_IO, naming the address, if it is in
 *  use or not permitted. */
int server_new(struct instance *instance, struct metrics *metrics, const struct listening *mirror,
               int unix_fd, struct server **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The current instance, for the thread that also replaces it, and the mirror's address. */
struct current *server_current(struct server *server);
/** Call once a second: close idle connections, free unused instances. */
void server_tick(struct server *server);
/** Path of the API's socket; empty for a passed one without a path. */
const char *server_socket(const struct server *server);
/** Requests that begin from now on are new ones. */
void server_stopping(struct server *server);
/** Does a request last that began before that? */
bool server_has_old_requests(const struct server *server);
/** Accept no more clients, who wait in the backlog of the socket that is returned, and close idle
 *  connections. The server owns the socket. */
int server_drain(struct server *server);
/** Has a client just connected, whose request has not come yet? */
bool server_expects(struct server *server);
/** Number of the mirror's connections; `busy`: of those with a running request. */
size_t server_connections(struct server *server, size_t *busy);
/** Stop and free. Running requests are cut off. */
void server_free(struct server *server);

#endif
