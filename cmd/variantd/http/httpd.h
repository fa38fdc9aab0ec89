/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libmicrohttpd on one socket, run by threads of ours, each with an epoll of its own.
 *
 * Its own threads would do but for one thing: after a wait that filled its array of 128 events
 * exactly, MHD_epoll waits again, and as long as before, so that 128 requests lie unanswered until
 * something else happens (libmicrohttpd 0.9 and 1.0). MHD_run never waits. In return, connections
 * are resumed by the thread that runs them: MHD_run can miss what is resumed while it works. */
#ifndef VARIANTD_HTTPD_H
#define VARIANTD_HTTPD_H

#include "ocivariant.h"

#include <microhttpd.h>

#define HTTPD_THREADS_MAX 16u

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

#endif
