/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls: what a handler sees of them, and the threads that handlers run in. */
#include "lib/base/clock.h"
#include "lib/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

void grpc_wake(struct grpc_server *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof(one));
    (void)n;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

void grpc_call_release(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    pthread_mutex_lock(&s->lock);
    bool last = --call->references == 0;
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

/* The stream is closed: the worker may still be busy, but its answer is dropped. */
void grpc_call_forget(struct grpc_call *call)
{
    *call->link = call->sibling;
    if (call->sibling)
        call->sibling->link = call->link;
    pthread_mutex_lock(&call->server->lock);
    __atomic_store_n(&call->gone, 1, __ATOMIC_RELEASE);
    if (call->gone_fd >= 0)
        (void)eventfd_write(call->gone_fd, 1);
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
    pthread_mutex_lock(&call->server->lock);
    if (call->gone_fd < 0)
        call->gone_fd = eventfd(call->gone ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_unlock(&call->server->lock);
    return call->gone_fd;
}

const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len)
{
    *len = call->request_len;
    return call->body.data ? (const uint8_t *)call->body.data + call->request_at : NULL;
}

/* Under the lock: the loop looks at the call soon. */
static void call_wake(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    if (call->woken || call->gone)
        return;
    call->woken = true;
    call->references++;
    call->woken_next = s->woken;
    s->woken = call;
    grpc_wake(s);
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
    size_t size = call->out_len + more + 4096;
    uint8_t *bytes = realloc(call->out, size);
    if (!bytes)
        return false;
    call->out = bytes;
    call->out_size = size;
    return true;
}

int grpc_call_send(struct grpc_call *call, const void *message, size_t len)
{
    struct grpc_server *s = call->server;
    size_t frame = s->options.framed ? 0 : 5, most = frame ? WAITING_MAX : PASSED_MAX;
    int status = OCV_OK;
    pthread_mutex_lock(&s->lock);
    while (!call->gone && call->out_len - call->out_sent > most)
        pthread_cond_wait(&call->room, &s->lock);
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
        call_wake(call);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message)
{
    pthread_mutex_lock(&call->server->lock);
    if (!call->finished) {
        call->finished = true;
        call->code = code;
        if (message)
            grpc_encode_message(message, call->message, sizeof(call->message));
        call_wake(call);
    }
    pthread_mutex_unlock(&call->server->lock);
}

int grpc_call_begin(struct grpc_call *call, const struct ocv_buffer *headers)
{
    pthread_mutex_lock(&call->server->lock);
    int status = call->gone ? OCV_ERR_NETWORK : OCV_OK;
    if (status == OCV_OK && !call->finished && !call->headers_sent)
        status = ocv_buffer_append(&call->head, headers->data, headers->len, NULL);
    if (status == OCV_OK)
        call_wake(call);
    pthread_mutex_unlock(&call->server->lock);
    return status;
}

void grpc_call_end(struct grpc_call *call, const struct ocv_buffer *trailers)
{
    pthread_mutex_lock(&call->server->lock);
    if (!call->finished) {
        call->finished = true;
        call->code = GRPC_RESOURCE_EXHAUSTED; /* where there is no memory */
        (void)!ocv_buffer_append(&call->tail, trailers->data, trailers->len, NULL);
        call_wake(call);
    }
    pthread_mutex_unlock(&call->server->lock);
}

/* ---- workers -----------------------------------------------------------------------------------
 */

static void *run_worker(void *data)
{
    struct grpc_server *s = data;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        for (s->n_idle++; !s->queue && !s->workers_stop;)
            pthread_cond_wait(&s->work, &s->lock);
        s->n_idle--;
        struct grpc_call *call = s->queue;
        if (!call)
            break;
        s->queue = call->next;
        if (!s->queue)
            s->queue_end = &s->queue;
        s->n_queue--;
        s->n_running++;
        bool late = call->gone;
        pthread_mutex_unlock(&s->lock);
        if (!late && grpc_call_left(call) == 0)
            grpc_call_finish(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
        else if (!late)
            s->options.handle(s->options.data, call);
        grpc_call_finish(call, GRPC_INTERNAL, "the call was not answered");
        grpc_call_release(call);
        pthread_mutex_lock(&s->lock);
        s->n_running--;
        if (__atomic_load_n(&s->stop_asked, __ATOMIC_ACQUIRE))
            grpc_wake(s); /* it waits for the last one */
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Start a thread. Called with the lock held, except for the first. */
static bool add_worker(struct grpc_server *s)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    bool started = pthread_create(&s->threads[s->n_threads], &attributes, run_worker, s) == 0;
    pthread_attr_destroy(&attributes);
    s->n_threads += started ? 1 : 0;
    return started;
}

static void dispatch_call(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    call->dispatched = true;
    pthread_mutex_lock(&s->lock);
    bool full = s->n_queue >= QUEUE_MAX;
    if (!full) {
        call->references++;
        call->next = NULL;
        *s->queue_end = call;
        s->queue_end = &call->next;
        s->n_queue++;
        if (s->n_queue > s->n_idle && s->n_threads < s->max_threads)
            (void)add_worker(s); /* or it waits for one that is there */
    }
    pthread_mutex_unlock(&s->lock);
    if (!full)
        pthread_cond_signal(&s->work); /* without the lock, or it would wake only to wait again */
    else
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many calls at once");
}

/* Why a frame is refused: without a grpc-encoding its compression is unknown. */
static const char *frame_fault(const struct grpc_call *call, enum grpc_code *code)
{
    const char *encoding = grpc_call_metadata(call, "grpc-encoding");
    if (*code != GRPC_UNIMPLEMENTED)
        return "message larger than 16 MiB";
    if (encoding && strcmp(encoding, "identity") != 0)
        return "compression is not supported";
    *code = GRPC_INTERNAL;
    return "a compressed message without a grpc-encoding";
}

/* The request is complete. */
void grpc_call_dispatch(struct grpc_call *call)
{
    const char *type = grpc_call_metadata(call, "content-type");
    enum grpc_code code = GRPC_OK;
    size_t at = 0, len = 0;
    int whole = grpc_unframe((const uint8_t *)call->body.data, call->body.len, &at, &len, &code);
    call->dispatched = true;
    if (call->bad)
        grpc_call_finish(call, call->bad_code, "cannot accept the request");
    else if (call->server->options.framed) {
        call->request_len = call->body.len;
        dispatch_call(call);
    } else if (!call->path || !type || strncmp(type, "application/grpc", 16) != 0)
        grpc_call_finish(call, GRPC_INTERNAL, "not a gRPC request");
    else if (whole < 0) {
        const char *fault = frame_fault(call, &code);
        grpc_call_finish(call, code, fault);
    } else if (whole == 0 || call->body.len != at + len)
        grpc_call_finish(call, GRPC_INTERNAL, "not exactly one message");
    else {
        call->request_at = at;
        call->request_len = len;
        dispatch_call(call);
    }
}

int grpc_workers_start(struct grpc_server *s, struct ocv_error *err)
{
    s->max_threads = s->options.workers ? s->options.workers : GRPC_WORKERS;
    s->threads = calloc(s->max_threads, sizeof(*s->threads));
    if (!s->threads)
        return ocv_error_nomem(err);
    return add_worker(s) ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
}

void grpc_workers_stop(struct grpc_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->workers_stop = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    s->n_threads = 0;
}
