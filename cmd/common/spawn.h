/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start another program. */
#ifndef OCV_PROGRAM_H
#define OCV_PROGRAM_H

#include <sys/types.h>

/** Run argv[0], found by PATH, with these descriptors as standard input, output and error; -1:
 *  /dev/null. It blocks no signal, and SIGPIPE ends it, whatever this program does. Returns 0, or
 * the number of the error. */
int program_start(const char *const *argv, int in, int out, int errors, pid_t *pid);

#endif
