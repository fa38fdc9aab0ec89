/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader is libmicrohttpd's thread and never waits: without bytes it suspends its connection,
 * under the lock that the writer takes to resume it. */
#include "stream.h"

#include "clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (64u * 1024)    /* libmicrohttpd sends so much at once, */
#define BLOCK_MAX (4 * BLOCK) /* and with few streams */
#define WAKE_US 2000          /* a trickle is passed on, too */

struct stream {
    struct item item;
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct MHD_Connection *connection;
    size_t first, used; /* in the ring */
    bool hold;
    bool ended, failed, gone;
    bool asleep; /* the connection is suspended */
    bool writer_waits;
    int64_t slept_us;
    int64_t sent;
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

int stream_new(bool hold, size_t ring, struct stream **out, struct ocv_error *err)
{
    struct stream *s = malloc(sizeof(*s) + ring); /* the ring need not be zero, nor resident yet */
    if (!s)
        return ocv_error_nomem(err);
    memset(s, 0, sizeof(*s));
    item_init(&s->item, free_stream);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->room, NULL);
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
    MHD_resume_connection(s->connection);
}

static size_t readable(const struct stream *s)
{
    size_t held = s->hold && !s->ended ? STREAM_HELD : 0;
    return s->used > held ? s->used - held : 0;
}

static void copy_in(struct stream *s, const char *bytes, size_t len)
{
    size_t at = (s->first + s->used) % s->size;
    size_t before_end = len < s->size - at ? len : s->size - at;
    memcpy(s->ring + at, bytes, before_end);
    memcpy(s->ring, bytes + before_end, len - before_end);
    s->used += len;
}

int stream_push(struct stream *s, const char *bytes, size_t len)
{
    pthread_mutex_lock(&s->lock);
    while (len && !s->gone) {
        size_t room = s->size - s->used;
        if (!room) {
            wake_reader(s);
            s->writer_waits = true;
            pthread_cond_wait(&s->room, &s->lock);
            s->writer_waits = false;
            continue;
        }
        size_t n = len < room ? len : room;
        copy_in(s, bytes, n);
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
    int64_t sent = s->sent;
    pthread_mutex_unlock(&s->lock);
    return sent;
}

/* ---- libmicrohttpd's side
 * ------------------------------------------------------------------------
 */

static ssize_t take(struct stream *s, char *out, size_t max)
{
    size_t n = readable(s);
    n = n < max ? n : max;
    if (n > 0 && !s->failed) {
        size_t before_end = n < s->size - s->first ? n : s->size - s->first;
        memcpy(out, s->ring + s->first, before_end);
        memcpy(out + before_end, s->ring, n - before_end);
        s->first = (s->first + n) % s->size;
        s->used -= n;
        s->sent += (int64_t)n;
        /* a wake costs more than copying: not one for each block */
        if (s->writer_waits && s->used <= s->size / 4)
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
    MHD_suspend_connection(s->connection);
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
