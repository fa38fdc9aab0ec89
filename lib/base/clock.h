/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The monotonic clock: what sets the clock on the wall does not change it. */
#ifndef OCV_CLOCK_H
#define OCV_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Nanoseconds since some start. */
static inline int64_t ocv_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t ocv_clock_us(void)
{
    return ocv_clock_ns() / 1000;
}

static inline int64_t ocv_clock_ms(void)
{
    return ocv_clock_ns() / 1000000;
}

/** The instant so many milliseconds from now, for pthread_cond_clockwait and the like. */
static inline struct timespec ocv_clock_after(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

#endif
