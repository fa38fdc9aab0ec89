/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file vpull.h
 * One image: resolve it, then hand it to its destination.
 */
#ifndef OCV_VPULL_H
#define OCV_VPULL_H

#include "cmd/common/cli.h"
#include "cmd/vpull/engines/engine.h"
#include "ocivariant.h"

/** Resolve and pull one image into `destination`; `prints` gets what belongs on standard output.
 *  Thread-safe with a struct cli and a progress of its own. Returns a status. */
int pull_image(struct cli *cli, const struct pull_options *options, struct progress *progress,
               const char *text, const struct destination *destination, const char *argument,
               struct ocv_buffer *prints, struct ocv_error *err) OCV_WARN_UNUSED;
/** Label of the choice, made here or for the lock; NULL if it has none. */
const char *pull_label(const struct pull *pull);
/** For an image without an index: warn if its config names another platform, or if it was given by
 *  digest and its labels say that it does not fit. */
int pull_check_lone(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;
/** Record the choice on the node; a failure shows only with -v. */
void pull_record(const struct pull *pull);
/** OCV_ERR_UNTRUSTED unless the image has the signature that `trust` and the lock ask for. */
int pull_check_signature(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;
/** Print the decision and the bytes to fetch. */
int pull_announce(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;

/* vpull's command line. */

struct vpull_settings {
    struct cli *cli;
    struct pull_options pull;
    enum progress_mode mode;
    const char *lock_file, *lock_profile;
};

extern const struct cli_command vpull_command;
/** Read the options; errors are printed. Returns the exit code, or -1 to go on. */
int settings_read(struct cli *cli, struct vpull_settings *s, int argc, char **argv);

/* What the command line and a lock ask for: a task for each image. */

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

/* Tasks side by side, and their ends in order. */

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

/* --print-ref on a node that runs variantd: the daemon has the profile and a registry client, so
 * this process needs neither a probe nor libcurl. */

/** Ask this node's variantd for the choice. Returns "REPOSITORY@DIGEST", freed by the caller, after
 *  showing warnings about the index. NULL if vpull must choose itself, because the daemon might
 *  answer differently or not at all: the user has own settings, there is no daemon, it cannot read
 *  the image, its index has no variants (tag rules and CPU levels are set per daemon), or nothing
 *  fits. */
char *daemon_choose(const struct cli *cli, const char *text, bool quiet);

#endif
