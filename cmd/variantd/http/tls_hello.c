/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/httpd.h"

#include "cmd/variantd/common/log.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define RECORD_HANDSHAKE 0x16   /* RFC 8446, 5.1: ContentType; no HTTP method begins with it */
#define GREETING_MAX (4 * 4096) /* read before the answer: unread bytes reset the connection */

/* True if the client has sent something, or nothing more can come. One that starts TLS is told. */
static bool has_begun(int fd)
{
    static const char refusal[] = "HTTP/1.1 400 Bad Request\r\n"
                                  "Content-Type: text/plain\r\n"
                                  "Content-Length: 83\r\n"
                                  "Connection: close\r\n\r\n"
                                  "variantd: this address speaks plain HTTP, "
                                  "and was asked in TLS: http://, not https\n";
    char greeting[4096];
    unsigned char first;
    ssize_t n = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (n != 1 || first != RECORD_HANDSHAKE)
        return true;
    for (size_t taken = 0; taken < GREETING_MAX; taken += (size_t)n)
        if ((n = recv(fd, greeting, sizeof(greeting), MSG_DONTWAIT)) <= 0)
            break;
    (void)send(fd, refusal, sizeof(refusal) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_RDWR); /* libmicrohttpd closes it */
    log_line(LOG_LEVEL_DEBUG, "a client started TLS: 400");
    return true;
}

static void take_out(struct tls_hello *p, size_t i)
{
    p->n--;
    memmove(p->silent + i, p->silent + i + 1, (p->n - i) * sizeof(*p->silent));
}

void tls_hello_add(struct tls_hello *p, int fd)
{
    if (has_begun(fd))
        return;
    if (p->n == TLS_HELLO_SILENT_MAX)
        take_out(p, 0);
    p->silent[p->n++] = fd;
}

void tls_hello_drop(struct tls_hello *p, int fd)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->silent[i] == fd) {
            take_out(p, i);
            return;
        }
}

void tls_hello_scan(struct tls_hello *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!has_begun(p->silent[i]))
            p->silent[kept++] = p->silent[i];
    p->n = kept;
}
