/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/variantd/common/budget.c: who waits for room waits no longer than told, whatever becomes of
 * the clock on the wall. */
#include "cmd/variantd/common/budget.h"
#include "lib/base/clock.h"
#include "test/unit/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool clock_is_set; /* somebody sets the clock as soon as it was read */

/* The daemon's own calls come here. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && clock_is_set)
        now->tv_sec += 3600;
    return rc;
}

START_TEST(wait_ends_in_time)
{
    int stop = 0;
    clock_is_set = true;
    ck_assert(budget_acquire(BUDGET_BYTES));
    ck_assert(!budget_wait(0, 1, ocv_clock_ms() + 250, &stop));
    stop = 1;
    ck_assert(!budget_wait(0, 1, INT64_MAX, &stop));
    budget_release(BUDGET_BYTES);
}
END_TEST

START_TEST(registry_has_its_share)
{
    int stop = 1;
    ck_assert(budget_wait(0, BUDGET_EACH, INT64_MAX, &stop));
    ck_assert(!budget_wait(0, 1, INT64_MAX, &stop));
    ck_assert(budget_wait(1, 1, INT64_MAX, &stop));
    budget_arrived(0, BUDGET_EACH, 10); /* ten bytes of it are kept */
    budget_arrived(1, 1, 0);
    ck_assert(!budget_acquire(BUDGET_BYTES));
    ck_assert(budget_acquire(BUDGET_BYTES - 10));
    budget_release(BUDGET_BYTES);
    ck_assert(budget_acquire(BUDGET_BYTES));
    budget_release(BUDGET_BYTES);
}
END_TEST

START_TEST(spare_room_ends_early)
{
    ck_assert(!budget_acquire_spare(BUDGET_SPARE + 1, SIZE_MAX));
    ck_assert(budget_acquire_spare(BUDGET_SPARE, SIZE_MAX));
    ck_assert(!budget_acquire_spare(1, SIZE_MAX));
    ck_assert(budget_acquire(1));
    ck_assert(!budget_acquire_spare(1, SIZE_MAX));
    budget_release(2);
    ck_assert(!budget_acquire_spare(1, 0));
    ck_assert(budget_acquire_spare(1, SIZE_MAX));
    budget_release(BUDGET_SPARE);
}
END_TEST

RUN_TESTS("variantd room", wait_ends_in_time, registry_has_its_share, spare_room_ends_early)
