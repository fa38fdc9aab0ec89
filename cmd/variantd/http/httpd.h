/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libmicrohttpd on one socket, run by threads of ours, each with an epoll of its own.
 *
 * Its own threads would do but for one thing: after a wait that filled its array of 128 events
 * exactly, MHD_epoll waits again, and as long as before, so that 128 requests lie unanswered until
 * something else happens (libmicrohttpd 0.9 and 1.0). MHD_run never waits. In return, connections
 * are resumed by the thread that runs them: MHD_run can miss what is resumed while it works. */
#ifndef VARIANTD_HTTPD_H
#define VARIANTD_HTTPD_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"
#include "ocivariant.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTPD_THREADS_MAX 16u

#define SELFCHECK_AGENT "variantd-selfcheck" /**< the User-Agent of the daemon's own requests */
#define HTTPD_HEAD_MAX (32u * 1024) /**< request line and headers together; 431 beyond it */
#define HTTPD_STALL_S 120u          /**< while the client does not read an answer */

struct httpd;
struct httpd_loop;

/** A suspended connection; the caller that suspends it owns the memory. */
struct httpd_suspended {
    struct MHD_Connection *connection;
    struct httpd_loop *loop;
    struct httpd_suspended *next;
};

/** Callbacks, called from the threads. `cls` is passed to all of them. */
struct httpd_calls {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback notify; /**< with `notify_cls` */
    void *cls, *notify_cls;
};

/** Limits per connection. */
struct httpd_limits {
    unsigned threads;     /**< 1 to HTTPD_THREADS_MAX */
    unsigned connections; /**< at once, of all threads, each of which has its share; further ones
                             wait in the backlog */
    unsigned timeout_s;   /**< allowed without a byte */
    size_t head;          /**< limit of request line and headers */
};

/** Serve `fd`, a listening socket, which is taken over even on failure. OCV_ERR_IO. */
int httpd_new(int fd, const struct httpd_calls *calls, const struct httpd_limits *limits,
              struct httpd **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Close the listening socket. If no other descriptor of it is open, new clients are refused once
 *  this returns. Call from one thread. A thread that is busy for more than two seconds closes its
 *  part later. */
void httpd_quiesce(struct httpd *httpd);
/** End all connections and free; NULL is allowed. No connection may be suspended any more. */
void httpd_free(struct httpd *httpd);

/** Suspend a connection, from a callback in its thread. `suspended` must stay until it is
 *  resumed. */
void httpd_suspend(struct MHD_Connection *connection, struct httpd_suspended *suspended);
/** Resume it, once, from any thread. The request may end before this returns. */
void httpd_resume(struct httpd_suspended *suspended);

/* Connections of one listener, from accept to close. This file closes idle ones: libmicrohttpd's
 * timeout restarts with every byte, so a client that sends a byte a minute would stay forever. Any
 * thread. */

#define CONNECTIONS_IDLE_MS 60000      /**< without a complete request */
#define CONNECTIONS_FRESH_MS 200       /**< a client that has connected asks within this time */
#define CONNECTIONS_CROWD_IDLE_MS 2000 /**< the same when connections run out */

struct watched_connection;
struct connections {
    pthread_mutex_t lock;
    struct watched_connection *first;
    size_t n, max;
    uint64_t changes, seen; /* opened and closed; the number at the last connections_stir */
    atomic_uint expected;   /* the loopback port from which a client is going to connect; 0: it has
                               connected, or none is expected */
};

/** `max`: the listener's limit. */
void connections_init(struct connections *peers, size_t max);
/** Call without open connections. */
void connections_destroy(struct connections *peers);
/** libmicrohttpd's MHD_OPTION_NOTIFY_CONNECTION; `cls` is the struct connections. */
void connections_notify(void *cls, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode code);
/** A request begins, or has ended. */
void connections_mark(struct MHD_Connection *connection, bool busy);
/** The user to whom the workers count the connection's requests: 0 for root, for the daemon's own
 *  user, and if unknown. Call from the request's own thread. */
unsigned connections_client(struct MHD_Connection *connection);
/** Call once a second: close connections without a request for too long; `all`: all idle ones, but
 *  fresh ones. */
void connections_tick(struct connections *peers, bool all);
/** Is there one of the last CONNECTIONS_FRESH_MS, whose first request has not come? */
bool connections_any_fresh(struct connections *peers);
/** Number of connections; `busy`: of those with a running request. */
size_t connections_count(struct connections *peers, size_t *busy);
/** True if nearly all connections are in use and some opened or closed since the last call: the
 *  server is busy, not stuck. */
bool connections_stir(struct connections *peers);

/* Detects requests that a browser sends on behalf of a web page, never a registry client: the
 * page's name as Host, an Origin header, or another site. */

/** True for such a request. The configuration's `host_names` are names of this machine. */
bool foreign_request(struct MHD_Connection *connection, const struct settings *settings);
/** 404, counted as `where` ("mirror", "api"). */
enum MHD_Result foreign_refuse(struct MHD_Connection *connection, struct metrics *metrics,
                               const char *where);

/* Parses values of request headers. Pure. */

/** True if an Accept header's value ("a/b;q=0.5, c/d") allows `type`. */
bool header_accepts(const char *value, const char *type);
/** True if a Range header's value is a single range of bytes, which is passed on. */
bool header_range_single(const char *value);
/** The bytes `*from` to `*end`, both included, of a single range in `size` bytes. False: not
 *  satisfiable. */
bool header_range_of(const char *value, int64_t size, int64_t *from, int64_t *end);
/** True if a Host header's value names this machine: "localhost", an address, or one of `names`,
 *  each with or without a port. False protects against DNS rebinding, where a web page makes the
 *  browser reach this daemon by the page's own DNS name. */
bool header_host_is_ours(const char *value, const char *const *names, size_t n);

/* Listening sockets. */

/** A listening TCP socket. */
struct listening {
    int fd;
    const char *address; /**< as requested */
    unsigned port;       /**< the actual one */
};
/** The port of an IPv4 or IPv6 address; 0: of another. */
unsigned address_port(const struct sockaddr *address);

/** Listen on "ADDRESS:PORT"; the text is kept. `kept`: a socket held earlier by listen_hold, or -1.
 *  It is used if it has that address, and then stays open whatever happens; else it is closed. */
int listen_tcp(const char *address, int kept, struct listening *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** The mirror's socket. Tries the other default address if permission for the first is missing.
 *  Warns if other users could take its place. */
int listen_mirror(const struct settings *settings, int kept, struct listening *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop accepting connections, but keep the address until the socket's last descriptor is
 *  closed. */
void listen_hold(int fd);
/** Let one that was held listen again. False: another program has the address. */
bool listen_resume(int fd);
/** A listening unix socket with mode 0666 (every user may read a profile). A stale socket is
 *  replaced; OCV_ERR_IO if another daemon accepts connections on it. */
int listen_unix(const char *path, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

/* Clients that start TLS on a plain HTTP port.
 *
 * containerd 1.7's ctr does so on every port but 80, and falls back to plain HTTP when it reads
 * HTTP in answer. libmicrohttpd waits for the end of a line, which a TLS greeting need not contain,
 * and the client waits for an answer. So the first byte of each connection is examined before
 * libmicrohttpd runs. Bytes that arrive between that look and libmicrohttpd's own read,
 * microseconds later, are missed; such a client waits until it or variantd gives up. */

#define TLS_HELLO_SILENT_MAX 32 /**< at once; more: the oldest are no longer examined */

/** Connections of one thread that have sent nothing yet. Initialise with zeros. */
struct tls_hello {
    int silent[TLS_HELLO_SILENT_MAX]; /* oldest first */
    size_t n;
};

/** A new connection; examines bytes that have arrived. */
void tls_hello_add(struct tls_hello *p, int fd);
/** The connection is about to be closed. */
void tls_hello_drop(struct tls_hello *p, int fd);
/** Examine new bytes before libmicrohttpd reads them: a TLS greeting is consumed, answered with 400
 *  and a sentence, and the connection shut down. */
void tls_hello_scan(struct tls_hello *p);

#endif
