/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file task.h  What the command line and a lock ask for: a task for each image. */
#ifndef VPULL_TASK_H
#define VPULL_TASK_H

#include "cmd/vpull/command_line.h"
#include "cmd/vpull/engines/destination.h"

#define TASK_PRINTS_MAX 4096u

struct task {
    const char *image;           /**< as named there */
    char *text;                  /**< what is pulled, by the locked digest for one */
    struct pull_options options; /**< of this image */
    size_t lane;                 /**< see tasks_lanes */
    struct ocv_buffer prints;    /**< on standard output, once it is done */
    bool failed;                 /**< `err` says why: it cannot be pulled, or was not */
    struct ocv_error err;
};

struct tasks {
    struct task *list;
    size_t n;
    struct lock lock;
};

/** A task for each of `images` (NULL-terminated); those of the lock, where none is named. A task
 *  that the lock forbids has failed already. */
int tasks_plan(const struct vpull_settings *s, char **images, struct tasks *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void tasks_free(struct tasks *tasks);
/** Give tasks that must run one after the other one lane: images of one repository, which share a
 *  client and so its token; in one layout, images of one tag, of which the last one keeps it. */
void tasks_lanes(struct tasks *tasks, const struct destination *destination);

#endif
