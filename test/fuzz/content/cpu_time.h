/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No input of a few bytes may cost more processor time than this, whatever it seems to hold: an
 * input that does is a find like one that crashes. */
#ifndef FUZZ_CPU_TIME_H
#define FUZZ_CPU_TIME_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* With sanitizers and the fuzzer's own tracing, under which 8 MiB of the first letters of names
 * take 2.5 (0.06 without); the worst layers of derive_hostile.bats take 0.2. */
#define CPU_MAX_S 5.0

static inline double cpu_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void cpu_check(double since)
{
    double took = cpu_time() - since;
    if (took <= CPU_MAX_S)
        return;
    fprintf(stderr, "%.1f s of processor time\n", took);
    abort();
}

#endif
