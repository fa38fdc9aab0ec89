/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls, as their handlers see them. */
#include "lib/base/clock.h"
#include "lib/internal/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SMALL_ANSWER 1024u /* bytes allocated at first; a larger answer gets 4 KiB to spare */

void grpc_wake(struct grpc_server *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof(one));
    (void)n;
}

void grpc_call_release(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    pthread_mutex_lock(&s->lock);
    bool last = --call->references == 0;
    if (last) {
        s->requests -= call->counted;
        if (call->gone_fd >= 0 && !call->told && s->n_spare < SPARE_MAX) {
            s->spare[s->n_spare++] = call->gone_fd;
            call->gone_fd = -1;
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    pthread_cond_destroy(&call->room);
    if (call->body.data) /* it may have a password in it */
        explicit_bzero(call->body.data, call->body.len);
    if (call->headers.data)
        explicit_bzero(call->headers.data, call->headers.len);
    if (call->gone_fd >= 0)
        close(call->gone_fd);
    ocv_buffer_free(&call->headers);
    ocv_buffer_free(&call->body);
    ocv_buffer_free(&call->head);
    ocv_buffer_free(&call->tail);
    free(call->out);
    free(call->message);
    free(call->path);
    free(call);
}

struct grpc_call *grpc_call_new(struct connection *c, int32_t stream)
{
    struct grpc_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->server = c->server;
    call->connection = c;
    call->stream = stream;
    call->references = 1;
    call->gone_fd = -1;
    ocv_buffer_init(&call->headers, GRPC_HEADERS_MAX);
    ocv_buffer_init(&call->head, GRPC_HEADERS_MAX);
    ocv_buffer_init(&call->tail, GRPC_HEADERS_MAX);
    ocv_buffer_init(&call->body, GRPC_MESSAGE_MAX + 5);
    pthread_cond_init(&call->room, NULL);
    call->sibling = c->calls;
    call->link = &c->calls;
    if (call->sibling)
        call->sibling->link = &call->sibling;
    c->calls = call;
    return call;
}

void grpc_call_forget(struct grpc_call *call)
{
    *call->link = call->sibling;
    if (call->sibling)
        call->sibling->link = call->link;
    pthread_mutex_lock(&call->server->lock);
    __atomic_store_n(&call->gone, 1, __ATOMIC_RELEASE);
    if (call->gone_fd >= 0 && !call->ended)
        call->told = eventfd_write(call->gone_fd, 1) == 0;
    call->connection = NULL;
    pthread_cond_broadcast(&call->room);
    pthread_mutex_unlock(&call->server->lock);
    grpc_call_release(call);
}

const char *grpc_call_path(const struct grpc_call *call)
{
    return call->path ? call->path : "";
}

const char *grpc_call_metadata(const struct grpc_call *call, const char *name)
{
    const char *one, *value;
    for (size_t at = 0; grpc_header_next(&call->headers, &at, &one, &value);)
        if (strcmp(one, name) == 0)
            return value;
    return NULL;
}

const struct ocv_buffer *grpc_call_headers(const struct grpc_call *call)
{
    return &call->headers;
}

int64_t grpc_call_left(const struct grpc_call *call)
{
    if (!call->deadline)
        return -1;
    int64_t left = call->deadline - ocv_clock_ms();
    return left > 0 ? left : 0;
}

bool grpc_call_cancelled(struct grpc_call *call)
{
    pthread_mutex_lock(&call->server->lock);
    bool gone = call->gone;
    pthread_mutex_unlock(&call->server->lock);
    return gone || grpc_call_left(call) == 0;
}

const volatile int *grpc_call_gone(const struct grpc_call *call)
{
    return &call->gone;
}

int grpc_call_gone_fd(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    pthread_mutex_lock(&s->lock);
    if (call->gone_fd < 0) {
        call->told = call->gone;
        call->gone_fd = !call->told && s->n_spare ? s->spare[--s->n_spare]
                                                  : eventfd(call->told, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    pthread_mutex_unlock(&s->lock);
    return call->gone_fd;
}

const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len)
{
    *len = call->request_len;
    return call->body.data ? (const uint8_t *)call->body.data + call->request_at : NULL;
}

static bool reserve_bytes(struct grpc_call *call, size_t more)
{
    if (call->out_sent) { /* what is sent makes room */
        memmove(call->out, call->out + call->out_sent, call->out_len - call->out_sent);
        call->out_len -= call->out_sent;
        call->out_sent = 0;
    }
    if (call->out_size - call->out_len >= more)
        return true;
    size_t need = call->out_len + more, size = need <= SMALL_ANSWER ? SMALL_ANSWER : need + 4096;
    uint8_t *bytes = realloc(call->out, size);
    if (!bytes)
        return false;
    call->out = bytes;
    call->out_size = size;
    return true;
}

void grpc_call_push(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    bool failed = false;
    pthread_mutex_lock(&s->lock);
    bool pending = call->pending;
    pthread_mutex_unlock(&s->lock);
    if (!pending)
        return;
    pthread_mutex_lock(&s->frames);
    pthread_mutex_lock(&s->lock);
    struct connection *c = call->pending ? call->connection : NULL;
    call->pending = false;
    pthread_mutex_unlock(&s->lock);
    if (c && !grpc_stream_advance(call))
        c->failed = true;
    if (c) {
        grpc_connection_flush(c);
        failed = c->failed;
    }
    pthread_mutex_unlock(&s->frames);
    if (failed)
        grpc_wake(s); /* it closes the connection */
}

int grpc_call_send(struct grpc_call *call, const void *message, size_t len)
{
    struct grpc_server *s = call->server;
    size_t frame = s->options.framed ? 0 : 5, most = frame ? WAITING_MAX : PASSED_MAX;
    int status = OCV_OK;
    pthread_mutex_lock(&s->lock);
    while (!call->gone && call->out_len - call->out_sent > most) {
        pthread_mutex_unlock(&s->lock);
        grpc_call_push(call);
        pthread_mutex_lock(&s->lock);
        if (!call->gone && call->out_len - call->out_sent > most)
            pthread_cond_wait(&call->room, &s->lock);
    }
    if (call->gone) {
        status = OCV_ERR_NETWORK;
    } else if (len > GRPC_MESSAGE_MAX || !reserve_bytes(call, len + 5)) {
        status = OCV_ERR_NOMEM;
    } else {
        if (frame)
            grpc_frame(call->out + call->out_len, len);
        if (len)
            memcpy(call->out + call->out_len + frame, message, len);
        call->out_len += len + frame;
        call->pending = true;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* With `lock` held. False: it has a status already. */
static bool set_status(struct grpc_call *call, enum grpc_code code, const char *message)
{
    if (call->finished)
        return false;
    call->finished = call->pending = true;
    call->code = code;
    if (message && *message && (call->message = malloc(STATUS_TEXT_MAX)))
        grpc_encode_message(message, call->message, STATUS_TEXT_MAX);
    return true;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message)
{
    pthread_mutex_lock(&call->server->lock);
    call->ended = true;
    (void)set_status(call, code, message);
    pthread_mutex_unlock(&call->server->lock);
    grpc_call_push(call);
}

void grpc_call_refuse(struct grpc_call *call, enum grpc_code code, const char *message)
{
    struct grpc_server *s = call->server;
    pthread_mutex_lock(&s->lock);
    if (set_status(call, code, message) && !call->woken && !call->gone) {
        call->woken = true;
        call->references++;
        call->woken_next = s->woken;
        s->woken = call;
        grpc_wake(s);
    }
    pthread_mutex_unlock(&s->lock);
}

int grpc_call_begin(struct grpc_call *call, const struct ocv_buffer *headers)
{
    pthread_mutex_lock(&call->server->lock);
    int status = call->gone ? OCV_ERR_NETWORK : OCV_OK;
    if (status == OCV_OK && !call->finished && !call->headers_sent)
        status = ocv_buffer_append(&call->head, headers->data, headers->len, NULL);
    if (status == OCV_OK)
        call->pending = true;
    pthread_mutex_unlock(&call->server->lock);
    return status;
}

void grpc_call_end(struct grpc_call *call, const struct ocv_buffer *trailers)
{
    pthread_mutex_lock(&call->server->lock);
    call->ended = true;
    if (!call->finished) {
        call->finished = call->pending = true;
        call->code = GRPC_RESOURCE_EXHAUSTED; /* where there is no memory */
        (void)!ocv_buffer_append(&call->tail, trailers->data, trailers->len, NULL);
    }
    pthread_mutex_unlock(&call->server->lock);
    grpc_call_push(call);
}
