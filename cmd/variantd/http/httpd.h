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

#define HTTPD_HEAD_MAX (32u * 1024) /**< request line and headers together: 431 past it */
#define HTTPD_STALL_S 120u          /**< in the middle of an answer that the client does not read */

struct httpd;
struct httpd_loop;

/** A suspended connection; the memory belongs to the caller that suspends it. */
struct httpd_suspended {
    struct MHD_Connection *connection;
    struct httpd_loop *loop;
    struct httpd_suspended *next;
};

/** What it asks; called from its threads. `cls` goes to all of them. */
struct httpd_calls {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback notify; /**< with `notify_cls` */
    void *cls, *notify_cls;
};

/** What each connection may take. */
struct httpd_limits {
    unsigned threads;     /**< 1 to HTTPD_THREADS_MAX */
    unsigned connections; /**< at once, of all threads, each of which has its share; further ones
                             wait in the backlog */
    unsigned timeout_s;   /**< without a byte */
    size_t head;          /**< bytes of a request's line and headers */
};

/** Serve `fd`, a listening socket, which is taken over in any case. OCV_ERR_IO. */
int httpd_new(int fd, const struct httpd_calls *calls, const struct httpd_limits *limits,
              struct httpd **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Close the listening socket. Where no other descriptor of it is left, new clients are refused
 * from the return of this call on. By one thread. A thread that is busy for more than two seconds
 * does it when it is not. */
void httpd_quiesce(struct httpd *httpd);
/** End all connections, and free; NULL is allowed. All have been resumed, and none is suspended any
 *  more. */
void httpd_free(struct httpd *httpd);

/** Suspend a connection, in a call from its thread. `suspended` must stay until it is resumed. */
void httpd_suspend(struct MHD_Connection *connection, struct httpd_suspended *suspended);
/** Resume it, once, from any thread. The request may have ended before this returns. */
void httpd_resume(struct httpd_suspended *suspended);

#endif
