/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients that begin with TLS where plain HTTP is spoken.
 *
 * containerd 1.7's ctr does so at every address but port 80, and goes on without TLS as soon as it
 * reads HTTP in answer. libmicrohttpd waits for a line's end, which such a greeting need not have,
 * and the client waits with it. So the first byte of each connection is looked at before
 * libmicrohttpd runs. What arrives in the microseconds between that and its own read is not seen:
 * such a client waits until it or variantd gives up. */
#ifndef VARIANTD_TLS_HELLO_H
#define VARIANTD_TLS_HELLO_H

#include <stddef.h>

#define TLS_HELLO_SILENT_MAX 32 /**< at once; beyond it the oldest are not looked at any more */

/** Connections of one thread that have sent nothing yet. Zeros: none. */
struct tls_hello {
    int silent[TLS_HELLO_SILENT_MAX]; /* oldest first */
    size_t n;
};

/** A new connection. What has come is looked at. */
void tls_hello_add(struct tls_hello *p, int fd);
/** It is about to be closed. */
void tls_hello_drop(struct tls_hello *p, int fd);
/** Look at what has come, before libmicrohttpd reads it: a greeting in TLS is taken, answered with
 * 400 and a sentence, and its connection shut. */
void tls_hello_look(struct tls_hello *p);

#endif
