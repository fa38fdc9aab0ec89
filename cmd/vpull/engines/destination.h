/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file sink.h
 * Where an image goes: one file per sink, one table.
 */
#ifndef VPULL_SINK_H
#define VPULL_SINK_H

#include "cmd/vpull/pull.h"

struct sink {
    const char *name;    /**< as in --to */
    bool takes_argument; /**< "NAME:ARGUMENT" */
    /** Does the engine answer? NULL: never a default. */
    bool (*available)(struct cli *cli, const struct pull_options *options);
    /** Bring the chosen image there and name it. `where` (may stay empty) tells the user. */
    int (*pull)(struct pull *pull, const char *argument, char *where, size_t size,
                struct ocv_error *err);
};

extern const struct sink sink_docker, sink_podman, sink_containerd, sink_nerdctl, sink_oci,
    sink_archive;

/** Find the sink of --to, or the first engine that answers, or `oci:` under the XDG data folder.
 *  `*argument` is owned by the caller. */
int sink_choose(struct cli *cli, const struct pull_options *options, const struct sink **out,
                char **argument, struct ocv_error *err) OCV_WARN_UNUSED;

/** Run a program with `stdin_fd` as standard input (-1: /dev/null), its output read line by line
 *  (`line` may be NULL) and the last line of its errors in `err`. */
int sink_run(const char *const *argv, int stdin_fd, void (*line)(void *data, const char *text),
             void *data, const volatile int *interrupted, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same with a terminal as its standard error, for clients that show their progress to one
 * only: its lines, without control sequences, go to `line`. */
int sink_run_terminal(const char *const *argv, void (*line)(void *data, const char *text),
                      void *data, const volatile int *interrupted,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the program is found in PATH. */
bool sink_has_program(const char *name);

#endif
