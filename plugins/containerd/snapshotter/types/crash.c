/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of interruptions: compiled only into the tests' build of the program. */
#include "plugins/containerd/snapshotter/types/crash.h"

#ifdef OCV_CRASH_POINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void snap_crash_point(const char *name)
{
    const char *wanted = getenv("OCV_CRASH_AT");
    if (wanted && strcmp(wanted, name) == 0)
        kill(getpid(), SIGKILL);
}
#else
typedef int nothing_here;
#endif
