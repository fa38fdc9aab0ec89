/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/workers.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static struct workers *workers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static size_t done, inside, most_inside;
static bool gate; /* jobs wait for it */

static void reset(void)
{
    done = inside = most_inside = 0;
    gate = true;
    ck_assert_int_eq(workers_new(NULL, NULL, &workers, NULL), 0);
}

static void run(struct job *job)
{
    pthread_mutex_lock(&lock);
    inside++;
    most_inside = inside > most_inside ? inside : most_inside;
    pthread_cond_broadcast(&change);
    while (!gate)
        pthread_cond_wait(&change, &lock);
    inside--;
    done++;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    free(job);
}

static struct job *submit_for(enum work work, size_t upstream, unsigned client)
{
    struct job *job = calloc(1, sizeof(*job));
    ck_assert_ptr_nonnull(job);
    job->work = work;
    job->upstream = upstream;
    job->client = client;
    job->run = run;
    if (workers_submit(workers, job))
        return job;
    free(job);
    return NULL;
}

static bool submit(enum work work, size_t upstream)
{
    return submit_for(work, upstream, 0);
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&lock);
    gate = open;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void await(const size_t *what, size_t n)
{
    pthread_mutex_lock(&lock);
    while (*what < n)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

START_TEST(all_is_done_before_the_end)
{
    for (size_t i = 0; i < 1000; i++)
        ck_assert(submit(WORK_DOCUMENT, i % 5));
    workers_free(workers);
    ck_assert_uint_eq(done, 1000);
    ck_assert_uint_le(most_inside, WORKERS_DOCUMENT_MAX);
}
END_TEST

START_TEST(one_registry_leaves_room_for_others)
{
    set_gate(false);
    for (size_t i = 0; i < 2 * WORKERS_DOCUMENT_EACH; i++)
        ck_assert(submit(WORK_DOCUMENT, 0));
    await(&inside, WORKERS_DOCUMENT_EACH);
    ck_assert(submit(WORK_DOCUMENT, 1)); /* gets a thread though many wait before it */
    await(&inside, WORKERS_DOCUMENT_EACH + 1);
    ck_assert(submit(WORK_BLOB, 0)); /* so does the other kind of work */
    await(&inside, WORKERS_DOCUMENT_EACH + 2);
    ck_assert_uint_eq(workers_running(workers, WORK_BLOB), 1);
    ck_assert_uint_eq(workers_running(workers, WORK_DOCUMENT), WORKERS_DOCUMENT_EACH + 1);
    ck_assert_uint_eq(workers_busy(workers), 2 * WORKERS_DOCUMENT_EACH + 2);
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, 2 * WORKERS_DOCUMENT_EACH + 2);
    ck_assert_uint_eq(most_inside, WORKERS_DOCUMENT_EACH + 2);
}
END_TEST

START_TEST(several_registries_leave_room_for_others)
{
    size_t before;
    set_gate(false);
    for (size_t i = 0; i < 2 * WORKERS_DOCUMENT_EACH; i++) {
        ck_assert(submit(WORK_DOCUMENT, 0));
        ck_assert(submit(WORK_DOCUMENT, 1));
    }
    await(&inside, before = 2 * WORKERS_DOCUMENT_EACH);
    for (size_t i = 0; i < WORKERS_DOCUMENT_EACH; i++) /* a third has all that one can have */
        ck_assert(submit(WORK_DOCUMENT, 2));
    await(&inside, before += WORKERS_DOCUMENT_EACH);
    for (size_t i = 3; i < 8; i++) /* and each further one has some */
        for (size_t n = 0; n < WORKERS_DOCUMENT_EACH; n++)
            ck_assert(submit(WORK_DOCUMENT, i));
    await(&inside, before += 16 + 8 + 4 + 2 + 1);
    ck_assert_uint_eq(workers_running(workers, WORK_DOCUMENT), before);
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, 4 * WORKERS_DOCUMENT_EACH + 6 * WORKERS_DOCUMENT_EACH);
}
END_TEST

START_TEST(a_client_leaves_room_for_others)
{
    const size_t share = WORKERS_BLOB_EACH / 2 - 1;
    size_t waiting[WORKERS_UPSTREAMS_MAX];
    set_gate(false);
    for (size_t i = 0; i < 2 * WORKERS_BLOB_EACH; i++)
        ck_assert_ptr_nonnull(submit_for(WORK_BLOB, 0, 7));
    await(&inside, share);
    for (size_t i = 0; i < 8; i++) /* of the same registry, by another client, who is none */
        ck_assert_ptr_nonnull(submit_for(WORK_BLOB, 0, 8));
    await(&inside, share + 8);
    for (size_t i = 0; i < WORKERS_BLOB_EACH - share - 8; i++) /* and by one who is trusted */
        ck_assert(submit(WORK_BLOB, 0));
    await(&inside, WORKERS_BLOB_EACH);
    workers_waiting(workers, WORK_BLOB, waiting);
    ck_assert_uint_eq(waiting[0], 2 * WORKERS_BLOB_EACH - share);
    ck_assert_uint_eq(waiting[1], 0);
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, 3 * WORKERS_BLOB_EACH - share);
}
END_TEST

START_TEST(who_is_trusted_does_not_wait_in_the_share_of_another)
{
    const size_t share = WORKERS_DOCUMENT_EACH / 2 - 1;
    struct job *last = NULL;
    set_gate(false);
    for (size_t i = 0; i < WORKERS_DOCUMENT_EACH; i++)
        ck_assert_ptr_nonnull(last = submit_for(WORK_DOCUMENT, 0, 7));
    await(&inside, share);
    workers_favour(workers, last); /* asked for by somebody else, too */
    await(&inside, share + 1);
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, WORKERS_DOCUMENT_EACH);
}
END_TEST

START_TEST(a_client_leaves_places_in_the_queue)
{
    size_t accepted = 0;
    set_gate(false);
    while (accepted < WORKERS_QUEUE_MAX && submit_for(WORK_DOCUMENT, 0, 7))
        accepted++;
    ck_assert_uint_lt(accepted, WORKERS_QUEUE_MAX / 2 + WORKERS_DOCUMENT_EACH);
    ck_assert(submit(WORK_DOCUMENT, 0));
    ck_assert_ptr_nonnull(submit_for(WORK_DOCUMENT, 0, 8));
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, accepted + 2);
}
END_TEST

START_TEST(queue_has_an_end)
{
    size_t accepted = 0;
    set_gate(false);
    while (accepted < 2 * WORKERS_QUEUE_MAX && submit(WORK_DOCUMENT, 0))
        accepted++;
    ck_assert_uint_ge(accepted, WORKERS_QUEUE_MAX);
    ck_assert_uint_le(accepted, WORKERS_QUEUE_MAX + WORKERS_DOCUMENT_EACH);
    set_gate(true);
    workers_free(workers);
    ck_assert_uint_eq(done, accepted);
}
END_TEST

START_TEST(threads_are_used_again)
{
    for (size_t i = 1; i <= 300; i++) {
        ck_assert(submit(WORK_DOCUMENT, 0));
        await(&done, i);
    }
    ck_assert_uint_eq(most_inside, 1);
    workers_free(workers);
}
END_TEST

RUN_TESTS_IN("variantd workers", reset, NULL, all_is_done_before_the_end,
             one_registry_leaves_room_for_others, several_registries_leave_room_for_others,
             a_client_leaves_room_for_others, who_is_trusted_does_not_wait_in_the_share_of_another,
             a_client_leaves_places_in_the_queue, queue_has_an_end, threads_are_used_again)
