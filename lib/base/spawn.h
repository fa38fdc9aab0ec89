/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Start another program. */
#ifndef OCV_SPAWN_H
#define OCV_SPAWN_H

#include <sys/types.h>

/** Run argv[0], found by PATH, with these descriptors as standard input, output and error; -1:
 *  /dev/null. All other descriptors are closed where the C library can do that (glibc 2.34). It
 *  blocks no signal, and SIGPIPE ends it, whatever this program does. Returns 0, or an errno. */
int ocv_spawn(const char *const *argv, int in, int out, int errors, pid_t *pid);

#endif
