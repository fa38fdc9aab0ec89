/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/vpull.h"

#include <pthread.h>
#include <stdlib.h>

enum task_state { TASK_WAITS, TASK_RUNS, TASK_ENDED };

struct running {
    const struct queue *queue;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum task_state *states;
};

/* The first task that may begin, or n. `*left`: some have not begun yet. */
static size_t next_task(const struct running *running, bool *left)
{
    const size_t *lanes = running->queue->lanes;
    *left = false;
    for (size_t i = 0; i < running->queue->n; i++) {
        if (running->states[i] != TASK_WAITS)
            continue;
        bool busy = false;
        for (size_t k = 0; k < i && !busy; k++)
            busy = lanes[k] == lanes[i] && running->states[k] != TASK_ENDED;
        *left = true;
        if (!busy)
            return i;
    }
    return running->queue->n;
}

static void *work(void *data)
{
    struct running *running = data;
    const struct queue *queue = running->queue;
    bool left = true;
    pthread_mutex_lock(&running->lock);
    for (;;) {
        size_t i = next_task(running, &left);
        if (i < queue->n) {
            running->states[i] = TASK_RUNS;
            pthread_mutex_unlock(&running->lock);
            queue->run(queue->data, i);
            pthread_mutex_lock(&running->lock);
            running->states[i] = TASK_ENDED;
            pthread_cond_broadcast(&running->changed);
        } else if (left) {
            pthread_cond_wait(&running->changed, &running->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&running->lock);
    return NULL;
}

int queue_run(const struct queue *queue, struct ocv_error *err)
{
    struct running running = {
        .queue = queue, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    size_t most = queue->at_once < queue->n ? queue->at_once : queue->n, started = 0;
    pthread_t *threads = calloc(most ? most : 1, sizeof(*threads));
    running.states = calloc(queue->n ? queue->n : 1, sizeof(*running.states));
    if (threads && running.states)
        while (started < most && pthread_create(&threads[started], NULL, work, &running) == 0)
            started++;
    for (size_t i = 0; started > 0 && i < queue->n; i++) { /* fewer than asked for do as well */
        pthread_mutex_lock(&running.lock);
        while (running.states[i] != TASK_ENDED)
            pthread_cond_wait(&running.changed, &running.lock);
        pthread_mutex_unlock(&running.lock);
        queue->ended(queue->data, i);
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    free(running.states);
    return started || !queue->n ? OCV_OK
                                : ocv_error_set(err, OCV_ERR_NOMEM, "cannot start a thread");
}
