/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader is libmicrohttpd's thread and never waits: without bytes it suspends its connection,
 * under the lock that the writer takes to resume it. */
#include "cmd/variantd/upstream/stream.h"

#include "cmd/variantd/clock.h"
#include "cmd/variantd/http/httpd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK (64u * 1024)    /* libmicrohttpd sends so much at once, */
#define BLOCK_MAX (4 * BLOCK) /* and with few streams */
#define WAKE_US 2000          /* a trickle is passed on, too */

/* Positions count all bytes from the first and only grow: what lies between them belongs to one
 * side, which copies it without the lock. */
struct stream {
    struct item item;
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct MHD_Connection *connection;
    uint64_t written, sent;
    bool hold;
    bool ended, failed, gone;
    bool asleep; /* the connection is suspended */
    struct httpd_suspended suspended;
    bool writer_waits;
    int64_t slept_us;
    int64_t waited_ms, waits_ms; /* for room, since the reader took its due; from when now */
    uint64_t seen;               /* sent then */
    unsigned patience_ms;
    size_t size;
    char ring[];
};

static void free_stream(struct item *item)
{
    struct stream *s = (struct stream *)item;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->room);
    free(s);
}

int stream_new(bool hold, size_t ring, unsigned patience_ms, struct stream **out,
               struct ocv_error *err)
{
    pthread_condattr_t monotonic;
    struct stream *s = malloc(sizeof(*s) + ring); /* the ring need not be zero, nor resident yet */
    if (!s)
        return ocv_error_nomem(err);
    memset(s, 0, sizeof(*s));
    item_init(&s->item, free_stream);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->room, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->patience_ms = patience_ms;
    s->hold = hold;
    s->size = ring;
    *out = s;
    return OCV_OK;
}

void stream_put(struct stream *s)
{
    item_put(s);
}

/* With the lock held. */
static void wake_reader(struct stream *s)
{
    if (!s->asleep)
        return;
    s->asleep = false;
    httpd_resume(&s->suspended);
}

static size_t readable(const struct stream *s)
{
    uint64_t held = s->hold && !s->ended ? STREAM_HELD : 0, there = s->written - s->sent;
    return there > held ? (size_t)(there - held) : 0;
}

static size_t room_in(const struct stream *s)
{
    return s->size - (size_t)(s->written - s->sent);
}

static void copy_in(struct stream *s, uint64_t position, const char *bytes, size_t len)
{
    size_t at = (size_t)(position % s->size);
    size_t before_end = len < s->size - at ? len : s->size - at;
    memcpy(s->ring + at, bytes, before_end);
    memcpy(s->ring, bytes + before_end, len - before_end);
}

/* A client that takes next to nothing for so long is as good as dead, and holds a worker. */
static void wait_for_room(struct stream *s)
{
    int64_t until_ms = clock_ms() + s->patience_ms;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    int rc = 0;
    wake_reader(s);
    s->writer_waits = true;
    s->waits_ms = clock_ms();
    while (!room_in(s) && !s->gone && !rc)
        rc = pthread_cond_timedwait(&s->room, &s->lock, &until);
    s->writer_waits = false;
    s->waited_ms += clock_ms() - s->waits_ms;
    if (rc && !room_in(s)) {
        s->gone = s->failed = true;
        wake_reader(s);
    }
}

int stream_push(struct stream *s, const char *bytes, size_t len)
{
    pthread_mutex_lock(&s->lock);
    while (len && !s->gone) {
        size_t room = room_in(s), n = len < room ? len : room;
        if (!room) {
            wait_for_room(s);
            continue;
        }
        uint64_t position = s->written;
        pthread_mutex_unlock(&s->lock);
        copy_in(s, position, bytes, n);
        pthread_mutex_lock(&s->lock);
        s->written += n;
        bytes += n;
        len -= n;
    }
    size_t ready = readable(s);
    if (s->asleep && ready && (ready >= s->size / 2 || clock_us() - s->slept_us > WAKE_US))
        wake_reader(s);
    bool gone = s->gone;
    pthread_mutex_unlock(&s->lock);
    return gone;
}

void stream_end(struct stream *s, bool good)
{
    pthread_mutex_lock(&s->lock);
    s->ended = good;
    s->failed = !good;
    wake_reader(s);
    pthread_mutex_unlock(&s->lock);
}

/* While the writer waits it is the reader who is slow, and not the registry. The kernel takes what
 * is for it in large pieces: that is seen in a long time alone. */
bool stream_slow(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t now = clock_ms();
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

void stream_cut(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->gone = s->failed = true;
    pthread_cond_signal(&s->room);
    wake_reader(s);
    pthread_mutex_unlock(&s->lock);
}

int64_t stream_sent(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t sent = (int64_t)s->sent;
    pthread_mutex_unlock(&s->lock);
    return sent;
}

/* ---- libmicrohttpd's side
 * ------------------------------------------------------------------------
 */

/* With the lock held, but not while copying. */
static ssize_t take(struct stream *s, char *out, size_t max)
{
    size_t n = readable(s);
    n = n < max ? n : max;
    if (n > 0 && !s->failed) {
        size_t at = (size_t)(s->sent % s->size);
        size_t before_end = n < s->size - at ? n : s->size - at;
        pthread_mutex_unlock(&s->lock);
        memcpy(out, s->ring + at, before_end);
        memcpy(out + before_end, s->ring, n - before_end);
        pthread_mutex_lock(&s->lock);
        s->sent += n;
        /* a wake costs more than copying: not one for each block */
        if (s->writer_waits && room_in(s) >= s->size - s->size / 4)
            pthread_cond_signal(&s->room);
        return (ssize_t)n;
    }
    if (s->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (s->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->writer_waits)
        pthread_cond_signal(&s->room);
    s->asleep = true;
    s->slept_us = clock_us();
    httpd_suspend(s->connection, &s->suspended);
    return 0;
}

static ssize_t on_read(void *cls, uint64_t position, char *out, size_t max)
{
    struct stream *s = cls;
    (void)position;
    pthread_mutex_lock(&s->lock);
    ssize_t n = take(s, out, max);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void on_free(void *cls)
{
    struct stream *s = cls;
    pthread_mutex_lock(&s->lock);
    s->gone = true;
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&s->lock);
    item_put(s);
}

struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *connection,
                                     int64_t size)
{
    s->connection = connection;
    item_get(s);
    struct MHD_Response *response = MHD_create_response_from_callback(
        size < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)size, s->size < STREAM_RING_MAX ? BLOCK : BLOCK_MAX,
        on_read, s, on_free);
    if (!response)
        item_put(s);
    return response;
}
