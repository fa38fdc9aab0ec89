/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file queue.h  Tasks side by side, and their ends in order. */
#ifndef VPULL_QUEUE_H
#define VPULL_QUEUE_H

#include "ocivariant.h"

struct queue {
    size_t n;            /**< tasks */
    unsigned at_once;    /**< of them, at most */
    const size_t *lanes; /**< for each task: those of one lane run one after the other, in order */
    /** Runs task `i`, in a thread of the queue. */
    void (*run)(void *data, size_t i);
    /** Task `i` and all before it have ended. In the calling thread, for 0, 1, 2, ... */
    void (*ended)(void *data, size_t i);
    void *data;
};

/** Run all tasks. A task of an earlier position begins first where both may. OCV_ERR_NOMEM: none
 *  has begun. */
int queue_run(const struct queue *queue, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
