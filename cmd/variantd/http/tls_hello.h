/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients that start TLS on a plain HTTP port.
 *
 * containerd 1.7's ctr does so on every port but 80, and falls back to plain HTTP when it reads
 * HTTP in answer. libmicrohttpd waits for the end of a line, which a TLS greeting need not contain,
 * and the client waits for an answer. So the first byte of each connection is examined before
 * libmicrohttpd runs. Bytes that arrive between that look and libmicrohttpd's own read,
 * microseconds later, are missed; such a client waits until it or variantd gives up. */
#ifndef VARIANTD_TLS_HELLO_H
#define VARIANTD_TLS_HELLO_H

#include <stddef.h>

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
