/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/system/processors.h"

bool ocv_processors_others(cpu_set_t *out)
{
    int here = sched_getcpu();
    if (sched_getaffinity(0, sizeof(*out), out) < 0)
        return false;
    if (here >= 0 && here < CPU_SETSIZE)
        CPU_CLR((size_t)here, out);
    return CPU_COUNT(out) > 0;
}
