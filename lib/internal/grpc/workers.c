/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threads: who answers which call, and what is refused before a handler sees it. */
#include "lib/internal/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>

static void *run_worker(void *data);

/* Start a thread, which counts as in the loop. With the lock held. */
static bool add_worker(struct grpc_server *s)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    bool started = pthread_create(&s->threads[s->n_threads], &attributes, run_worker, s) == 0;
    pthread_attr_destroy(&attributes);
    s->n_threads += started ? 1 : 0;
    s->n_in_loop += started ? 1 : 0;
    return started;
}

static struct grpc_call *pop_call(struct grpc_server *s)
{
    struct grpc_call *call = s->queue;
    s->queue = call->next;
    if (!s->queue)
        s->queue_end = &s->queue;
    s->n_queue--;
    return call;
}

/* A thread's life. */
static void *run_worker(void *data)
{
    struct grpc_server *s = data;
    pthread_mutex_lock(&s->lock);
    while (!s->over) {
        while (s->n_in_loop <= s->n_queue && s->n_threads < s->max_threads && add_worker(s))
            ;
        struct grpc_call *call = NULL; /* that this thread leaves the loop for */
        if (s->queue && s->n_in_loop > 1) {
            s->n_in_loop--;
            s->n_running++;
            call = pop_call(s);
        }
        bool more = s->queue && s->n_in_loop > 1;
        pthread_mutex_unlock(&s->lock);
        if (more) /* for another thread, which does the same */
            grpc_wake(s);
        if (call) {
            bool late = __atomic_load_n(&call->gone, __ATOMIC_ACQUIRE);
            if (!late && grpc_call_left(call) == 0)
                grpc_call_finish(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
            else if (!late)
                s->options.handle(s->options.data, call);
            grpc_call_finish(call, GRPC_INTERNAL, "the call was not answered");
            grpc_call_release(call);
        }
        bool over = !call && grpc_server_turn(s);
        pthread_mutex_lock(&s->lock);
        s->over = s->over || over;
        if (call) {
            s->n_running--;
            s->n_in_loop++;
            if (__atomic_load_n(&s->stop_asked, __ATOMIC_ACQUIRE))
                grpc_wake(s); /* the end waits for the last one */
        }
    }
    pthread_mutex_unlock(&s->lock);
    grpc_wake(s); /* so that the next one ends, too */
    return NULL;
}

/* The request is complete. */
void grpc_call_dispatch(struct grpc_call *call)
{
    struct grpc_server *s = call->server;
    const char *type = grpc_call_metadata(call, "content-type");
    const char *encoding = grpc_call_metadata(call, "grpc-encoding"), *fault = NULL;
    enum grpc_code code = GRPC_OK;
    size_t at = 0, len = 0;
    int whole = grpc_unframe((const uint8_t *)call->body.data, call->body.len, &at, &len, &code);
    call->dispatched = true;
    if (call->bad) {
        code = call->bad_code;
        fault = "cannot accept the request";
    } else if (s->options.framed) {
        at = 0;
        len = call->body.len;
    } else if (!call->path || !type || strncmp(type, "application/grpc", 16) != 0) {
        code = GRPC_INTERNAL;
        fault = "not a gRPC request";
    } else if (whole < 0 && code != GRPC_UNIMPLEMENTED) {
        fault = "message larger than 16 MiB";
    } else if (whole < 0 && encoding && strcmp(encoding, "identity") != 0) {
        fault = "compression is not supported";
    } else if (whole < 0) { /* its compression is unknown */
        code = GRPC_INTERNAL;
        fault = "a compressed message without a grpc-encoding";
    } else if (whole == 0 || call->body.len != at + len) {
        code = GRPC_INTERNAL;
        fault = "not exactly one message";
    }
    call->request_at = at;
    call->request_len = len;
    pthread_mutex_lock(&s->lock);
    bool full = s->n_queue >= QUEUE_MAX;
    if (!fault && !full) {
        call->references++;
        call->next = NULL;
        *s->queue_end = call;
        s->queue_end = &call->next;
        s->n_queue++;
    }
    pthread_mutex_unlock(&s->lock);
    if (fault)
        grpc_call_refuse(call, code, fault);
    else if (full)
        grpc_call_refuse(call, GRPC_RESOURCE_EXHAUSTED, "too many calls at once");
}

int grpc_workers_run(struct grpc_server *s, struct ocv_error *err)
{
    s->max_threads = s->options.workers ? s->options.workers : GRPC_WORKERS;
    s->threads = calloc(s->max_threads, sizeof(*s->threads));
    if (!s->threads)
        return ocv_error_nomem(err);
    pthread_mutex_lock(&s->lock);
    bool started = add_worker(s);
    s->n_in_loop++;
    pthread_mutex_unlock(&s->lock);
    if (!started)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    run_worker(s);
    return OCV_OK;
}

void grpc_workers_join(struct grpc_server *s)
{
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    s->n_threads = 0;
    while (s->queue)
        grpc_call_release(pop_call(s));
}
