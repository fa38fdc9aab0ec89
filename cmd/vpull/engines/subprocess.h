/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running an engine's own client. */
#ifndef VPULL_SUBPROCESS_H
#define VPULL_SUBPROCESS_H

#include "cmd/common/cli.h"

/** Run a program with `stdin_fd` as standard input (-1: /dev/null), its output read line by line
 *  (`line` may be NULL) and the last line of its errors in `err`. What `cli` has for interrupts and
 * ticks is used. */
int subprocess_run(const char *const *argv, int stdin_fd,
                   void (*line)(void *data, const char *text), void *data, const struct cli *cli,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The same with a terminal as its standard error, for clients that show their progress to one
 * only: its lines, without control sequences, go to `line`. */
int subprocess_run_terminal(const char *const *argv, void (*line)(void *data, const char *text),
                            void *data, const struct cli *cli,
                            struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the program is found in PATH. */
bool subprocess_available(const char *name);

#endif
