/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One GET to this node's own daemon over its unix socket (or loopback), within a deadline and a
 * size, without libcurl: hooks run at every container's start and have a few milliseconds.
 *
 * HTTP/1.1 with "Connection: close"; the answer is taken with Content-Length or to the end of the
 * connection. Chunked bodies are refused: the daemon never sends one here. */
#include "lib/internal/records/daemon.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/system/unix_socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX (16u * 1024)
#define TARGET_MAX 16384u /* variantd takes heads of 32 KiB */

struct daemon_connection {
    int fd;
    int64_t deadline; /* monotonic milliseconds */
    const char *path;
};

/* Wait until the socket can be read or written. */
static int wait_for(const struct daemon_connection *t, short events, struct ocv_error *err)
{
    for (;;) {
        int64_t left = t->deadline - ocv_clock_ms();
        struct pollfd fd = {.fd = t->fd, .events = events};
        int ready = left > 0 ? poll(&fd, 1, left > INT_MAX ? INT_MAX : (int)left) : 0;
        if (ready > 0)
            return OCV_OK;
        if (ready == 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: no answer in time", t->path);
        if (errno != EINTR)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", t->path, strerror(errno));
    }
}

int ocv_daemon_parse_answer(const char *bytes, size_t len, long *status, size_t *body,
                            size_t *length, struct ocv_error *err)
{
    const char *end = len ? memmem(bytes, len < HEAD_MAX ? len : HEAD_MAX, "\r\n\r\n", 4) : NULL;
    if (!end || len < 12 || memcmp(bytes, "HTTP/1.", 7) != 0 || bytes[8] != ' ')
        return ocv_error_set(err, OCV_ERR_DATA, "not an HTTP answer");
    *status = 0;
    for (int i = 9; i < 12; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return ocv_error_set(err, OCV_ERR_DATA, "not an HTTP answer");
        *status = *status * 10 + (bytes[i] - '0');
    }
    *body = (size_t)(end - bytes) + 4;
    *length = len - *body;
    for (const char *line = bytes; line < end;) {
        const char *next = memmem(line, (size_t)(end - line) + 2, "\r\n", 2);
        if (!next)
            break;
        size_t n = (size_t)(next - line);
        if (n > 18 && !strncasecmp(line, "transfer-encoding:", 18))
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "a chunked HTTP answer, which is not supported");
        if (n > 15 && !strncasecmp(line, "content-length:", 15)) {
            unsigned long long told = 0;
            const char *p = line + 15;
            while (p < next && *p == ' ')
                p++;
            for (; p < next && *p >= '0' && *p <= '9' && told < UINT_MAX; p++)
                told = told * 10 + (unsigned long long)(*p - '0');
            if (p != next || told != *length)
                return ocv_error_set(err, OCV_ERR_DATA, "an HTTP answer of the wrong length");
        }
        line = next + 2;
    }
    return OCV_OK;
}

int ocv_daemon_get(const char *path, const char *target, unsigned timeout_ms, long *http_status,
                   struct ocv_buffer *body, struct ocv_error *err)
{
    int64_t deadline = ocv_clock_ms() + timeout_ms;
    ocv_auto_fd int fd = -1;
    ocv_auto_buffer raw;
    ocv_buffer_init(&raw, body->max + HEAD_MAX);
    size_t target_len = strnlen(target, TARGET_MAX);
    bool valid = target[0] == '/' && target_len < TARGET_MAX;
    for (size_t i = 0; valid && i < target_len; i++)
        valid = target[i] > ' ' && target[i] < 0x7f;
    if (!valid)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a valid request target",
                             target);
    int64_t left = deadline - ocv_clock_ms();
    int status = ocv_unix_connect(path, left > 0 ? (unsigned)left : 1, &fd, err);
    if (status == OCV_ERR_NETWORK && (errno == ENOENT || errno == ECONNREFUSED))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    if (status < 0)
        return status;
    const struct daemon_connection t = {fd, deadline, path};
    char request[TARGET_MAX + 128];
    int len = snprintf(request, sizeof(request),
                       "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target);
    for (int sent = 0; sent < len;) {
        ssize_t n = send(fd, request + sent, (size_t)(len - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (int)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", path, strerror(errno));
        OCV_TRY(wait_for(&t, POLLOUT, err));
    }

    /* Everything until the daemon closes. */
    for (bool open = true; open;) {
        char chunk[16384];
        ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
        open = n != 0;
        if (n > 0)
            OCV_TRY(ocv_buffer_append(&raw, chunk, (size_t)n, err));
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            OCV_TRY(wait_for(&t, POLLIN, err));
        else if (n < 0)
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", path, strerror(errno));
    }
    size_t at = 0, length = 0;
    status =
        ocv_daemon_parse_answer(raw.data ? raw.data : "", raw.len, http_status, &at, &length, err);
    if (status < 0) {
        ocv_error_prefix(err, "%s", path);
        return status;
    }
    return length ? ocv_buffer_append(body, raw.data + at, length, err) : OCV_OK;
}
