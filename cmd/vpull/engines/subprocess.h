/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running an engine's own client. */
#ifndef VPULL_SUBPROCESS_H
#define VPULL_SUBPROCESS_H

#include "cmd/common/cli.h"

/** Run a program with `stdin_fd` as standard input (-1: /dev/null). Its output is read line by line
 *  (`line` may be NULL); the last line of its errors goes to `err`. Uses `cli`'s interrupt flag and
 *  tick. */
int subprocess_run(const char *const *argv, int stdin_fd,
                   void (*line)(void *data, const char *text), void *data, const struct cli *cli,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The same with a terminal as standard error, for clients that show progress only there. The
 *  terminal's lines go to `line`, without control sequences. */
int subprocess_run_terminal(const char *const *argv, void (*line)(void *data, const char *text),
                            void *data, const struct cli *cli,
                            struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the program is found in PATH. */
bool subprocess_available(const char *name);

#endif
