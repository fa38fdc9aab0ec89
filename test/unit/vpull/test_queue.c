/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/vpull/queue.c: how many tasks run at once (in threads of pthread_create), lanes, and the
 * order of their ends. */
#include "cmd/vpull/queue.c"
#include "test/unit/suite.h"

#include <pthread.h>
#include <sched.h>

#define TASKS 200

static struct {
    pthread_mutex_t lock;
    const size_t *lanes;
    unsigned running, most;
    bool lane_runs[TASKS];
    size_t last_of[TASKS]; /* of a lane, one more than the task that ran last */
    unsigned ran[TASKS];
    unsigned out_of_lane;
    size_t next_end;
    unsigned out_of_order;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void run_one(void *data, size_t i)
{
    size_t lane = seen.lanes[i];
    (void)data;
    pthread_mutex_lock(&seen.lock);
    seen.ran[i]++;
    seen.running++;
    seen.most = seen.running > seen.most ? seen.running : seen.most;
    seen.out_of_lane += seen.lane_runs[lane] || seen.last_of[lane] > i;
    seen.lane_runs[lane] = true;
    seen.last_of[lane] = i + 1;
    pthread_mutex_unlock(&seen.lock);
    for (size_t k = 0; k < i % 7; k++) /* they end in another order than they began */
        sched_yield();
    pthread_mutex_lock(&seen.lock);
    seen.running--;
    seen.lane_runs[lane] = false;
    pthread_mutex_unlock(&seen.lock);
}

static void end_one(void *data, size_t i)
{
    (void)data;
    pthread_mutex_lock(&seen.lock);
    seen.out_of_order += i != seen.next_end++ || seen.ran[i] != 1;
    pthread_mutex_unlock(&seen.lock);
}

static void run_queue(const size_t *lanes, size_t n, unsigned at_once)
{
    const struct queue queue = {
        .n = n, .at_once = at_once, .lanes = lanes, .run = run_one, .ended = end_one};
    struct ocv_error err;
    seen = (__typeof__(seen)){.lock = PTHREAD_MUTEX_INITIALIZER, .lanes = lanes};
    ck_assert_int_eq(queue_run(&queue, &err), OCV_OK);
    ck_assert_uint_eq(seen.next_end, n);
    ck_assert_uint_eq(seen.out_of_order, 0);
    ck_assert_uint_eq(seen.out_of_lane, 0);
    ck_assert_uint_le(seen.most, at_once);
}

START_TEST(test_each_task_once_and_ends_in_order)
{
    size_t lanes[TASKS];
    for (size_t i = 0; i < TASKS; i++)
        lanes[i] = i;
    for (unsigned at_once = 1; at_once <= 8; at_once++)
        run_queue(lanes, TASKS, at_once);
}
END_TEST

START_TEST(test_a_lane_runs_one_after_the_other)
{
    size_t lanes[TASKS] = {0};
    run_queue(lanes, TASKS, 8);
    ck_assert_uint_eq(seen.most, 1);
    for (size_t i = 0; i < TASKS; i++)
        lanes[i] = i % 3;
    run_queue(lanes, TASKS, 8);
    ck_assert_uint_le(seen.most, 3);
}
END_TEST

START_TEST(test_nothing_to_do)
{
    run_queue(NULL, 0, 3);
}
END_TEST

/* Two tasks that wait for each other end only if they run at the same time. */
static pthread_barrier_t both;

static void meet(void *data, size_t i)
{
    (void)data;
    (void)i;
    pthread_barrier_wait(&both);
}

START_TEST(test_side_by_side)
{
    const size_t lanes[] = {0, 1};
    const struct queue queue = {
        .n = 2, .at_once = 2, .lanes = lanes, .run = meet, .ended = end_one};
    struct ocv_error err;
    seen = (__typeof__(seen)){.lock = PTHREAD_MUTEX_INITIALIZER, .lanes = lanes};
    ck_assert_int_eq(pthread_barrier_init(&both, NULL, 2), 0);
    ck_assert_int_eq(queue_run(&queue, &err), OCV_OK);
    pthread_barrier_destroy(&both);
    ck_assert_uint_eq(seen.next_end, 2);
}
END_TEST

RUN_TESTS("queue", test_each_task_once_and_ends_in_order, test_a_lane_runs_one_after_the_other,
          test_nothing_to_do, test_side_by_side)
