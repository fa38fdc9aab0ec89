/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libmicrohttpd sends the head. Then its reader suspends the connection, and the writer sends on
 * the socket itself until it resumes the connection: nothing is copied, and no thread waits for
 * another. */
#include "cmd/variantd/upstream/upstream.h"

#include "cmd/variantd/http/httpd.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PARTS 4 /* of a chunk: its size, held bytes, new bytes, the end of the line */
#define CHUNK_HEAD_MAX 24

struct stream {
    struct refcounted item;
    pthread_mutex_t lock;
    pthread_cond_t turn; /* `open`, `sending` or `gone` has changed */
    struct MHD_Connection *connection;
    struct httpd_suspended suspended;
    int fd;
    bool open;    /* the connection is suspended */
    bool sending; /* by the writer, without the lock: other threads must not resume it */
    bool ended, failed, gone;
    bool writer_waits;
    int64_t waited_ms, waits_ms; /* time waited for the reader since it last took its minimum; start
                                    of the current wait */
    int64_t sent, seen;          /* bytes of the object: in total, and at the last check */
    unsigned patience_ms;
    /* the writer's */
    int64_t size, given;
    bool hold;
    size_t n_held;
    char held[STREAM_HELD];
};

static void free_stream(struct refcounted *item)
{
    struct stream *s = (struct stream *)item;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->turn);
    free(s);
}

int stream_new(bool hold, int64_t size, unsigned patience_ms, struct stream **out,
               struct ocv_error *err)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s)
        return ocv_error_nomem(err);
    refcounted_init(&s->item, free_stream);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->turn, NULL);
    s->fd = -1;
    s->patience_ms = patience_ms;
    s->hold = hold;
    s->size = size;
    *out = s;
    return OCV_OK;
}

/* Call with the lock held. */
static void wake_reader(struct stream *s)
{
    if (!s->open)
        return;
    s->open = false;
    httpd_resume(&s->suspended);
}

static int unread_bytes(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

static void count_wait(struct stream *s, bool begins)
{
    pthread_mutex_lock(&s->lock);
    int64_t now = ocv_clock_ms();
    if (!begins)
        s->waited_ms += now - s->waits_ms;
    s->waits_ms = now;
    s->writer_waits = begins;
    pthread_mutex_unlock(&s->lock);
}

static bool send_parts(struct stream *s, struct iovec *parts, size_t n, bool more)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
    struct pollfd room = {.fd = s->fd, .events = POLLOUT};
    size_t left = 0;
    int before, rc;
    for (size_t i = 0; i < n; i++)
        left += parts[i].iov_len;
    while (left) {
        ssize_t sent =
            sendmsg(s->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (sent < 0 && errno == EAGAIN) {
            /* A client that takes almost nothing for a long time is as good as dead, and occupies a
             * worker. The kernel reports room only when a third of a large buffer is free, which
             * may take long. */
            count_wait(s, true);
            do {
                before = unread_bytes(s->fd);
                rc = poll(&room, 1, (int)s->patience_ms);
            } while (rc == 0 && before - unread_bytes(s->fd) >= STREAM_PATIENCE_BYTES);
            count_wait(s, false);
            if (rc == 0 || (rc < 0 && errno != EINTR))
                return false;
        }
        if (sent < 0)
            continue;
        size_t rest = (size_t)sent; /* to be removed from `parts` */
        left -= rest;
        while (rest && rest >= message.msg_iov->iov_len) {
            rest -= message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (rest) {
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + rest;
            message.msg_iov->iov_len -= rest;
        }
    }
    return true;
}

/* Send `held` bytes from the buffer, then `bytes`; as one chunk if the size is unknown. False: the
 * reader has gone. */
static bool send_bytes(struct stream *s, size_t held, const char *bytes, size_t len, bool more)
{
    char head[CHUNK_HEAD_MAX];
    struct iovec parts[PARTS] = {{.iov_base = head},
                                 {.iov_base = s->held, .iov_len = held},
                                 {.iov_base = (char *)bytes, .iov_len = len},
                                 {.iov_base = (char *)"\r\n"}};
    pthread_mutex_lock(&s->lock);
    while (!s->open && !s->gone)
        pthread_cond_wait(&s->turn, &s->lock);
    bool gone = s->gone;
    s->sending = !gone;
    pthread_mutex_unlock(&s->lock);
    if (gone)
        return false;

    if (s->size < 0) {
        parts[0].iov_len = (size_t)snprintf(head, sizeof(head), "%zx\r\n", held + len);
        parts[PARTS - 1].iov_len = 2;
    }
    bool good = send_parts(s, parts, PARTS, more);

    pthread_mutex_lock(&s->lock);
    s->sending = false;
    if (good)
        s->sent += (int64_t)(held + len);
    else
        s->gone = s->failed = true;
    gone = s->gone;
    if (gone) {
        pthread_cond_broadcast(&s->turn);
        wake_reader(s);
    }
    pthread_mutex_unlock(&s->lock);
    return !gone;
}

int stream_push(struct stream *s, const char *bytes, size_t len, bool more)
{
    s->given += (int64_t)len;
    /* How many bytes to hold back. */
    int64_t unheld = s->size < 0 ? 0 : s->size - (int64_t)STREAM_HELD;
    int64_t late = s->given - (unheld > 0 ? unheld : 0);
    size_t hold = !s->hold || late <= 0         ? 0
                  : late < (int64_t)STREAM_HELD ? (size_t)late
                                                : STREAM_HELD;
    size_t out = s->n_held + len - hold;
    size_t old = out < s->n_held ? out : s->n_held, now = out - old;
    if (out && !send_bytes(s, old, bytes, now, more && s->given != s->size))
        return 1;
    memmove(s->held, s->held + old, s->n_held - old);
    memcpy(s->held + s->n_held - old, bytes + now, len - now);
    s->n_held += len - out;
    return 0;
}

void stream_end(struct stream *s, bool good)
{
    if (good && s->n_held)
        good = send_bytes(s, s->n_held, NULL, 0, false);
    pthread_mutex_lock(&s->lock);
    s->ended = good;
    s->failed = !good;
    wake_reader(s);
    pthread_mutex_unlock(&s->lock);
}

/* While the writer waits, the client is slow, not the registry. The kernel's buffer drains in large
 * pieces, so speed is measured over a long time. */
bool stream_slow(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t now = ocv_clock_ms();
    if (s->writer_waits) {
        s->waited_ms += now - s->waits_ms;
        s->waits_ms = now;
    }
    if (s->sent - s->seen >= STREAM_SLOW_BYTES) {
        s->seen = s->sent;
        s->waited_ms = 0;
    }
    bool slow = s->waited_ms >= STREAM_SLOW_MS && s->writer_waits && !s->gone;
    pthread_mutex_unlock(&s->lock);
    return slow;
}

/* After the shutdown the writer does not wait for the socket. */
void stream_cut(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->gone = s->failed = true;
    pthread_cond_broadcast(&s->turn);
    if (s->sending)
        shutdown(s->fd, SHUT_RDWR);
    while (s->sending)
        pthread_cond_wait(&s->turn, &s->lock);
    wake_reader(s);
    pthread_mutex_unlock(&s->lock);
}

int64_t stream_sent(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t sent = s->sent;
    pthread_mutex_unlock(&s->lock);
    return sent;
}

/* Called after the head was sent, and whenever the connection is resumed. */
static ssize_t on_read(void *cls, uint64_t position, char *out, size_t max)
{
    struct stream *s = cls;
    ssize_t answer = 0;
    (void)position, (void)out, (void)max;
    pthread_mutex_lock(&s->lock);
    if (s->failed) {
        answer = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (s->ended) {
        answer = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->fd =
            MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        s->open = true;
        httpd_suspend(s->connection, &s->suspended);
        pthread_cond_broadcast(&s->turn);
    }
    pthread_mutex_unlock(&s->lock);
    return answer;
}

static void on_free(void *cls)
{
    struct stream *s = cls;
    pthread_mutex_lock(&s->lock);
    s->gone = true;
    pthread_cond_broadcast(&s->turn);
    pthread_mutex_unlock(&s->lock);
    refcounted_unref(s);
}

struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *connection)
{
    s->connection = connection;
    refcounted_ref(s);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64, on_read, s, on_free);
    if (!response) {
        refcounted_unref(s);
        return NULL;
    }
    /* libmicrohttpd does not see the bytes and cannot count them; after a Content-Length of ours it
     * must close the connection */
    char size[24];
    snprintf(size, sizeof(size), "%lld", (long long)s->size);
    if (s->size < 0 ||
        (MHD_set_response_options(
             response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT | MHD_RF_INSANITY_HEADER_CONTENT_LENGTH,
             MHD_RO_END) == MHD_YES &&
         MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_LENGTH, size) == MHD_YES))
        return response;
    MHD_destroy_response(response);
    return NULL;
}
