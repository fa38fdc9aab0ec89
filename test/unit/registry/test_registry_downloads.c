/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/registry/fetch.c: the places that clients of several threads share. */
#include "lib/registry/registry_internal.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <sched.h>

#define CLIENTS 6
#define ROUNDS 2000

static struct ocv_downloads *downloads;

static struct ocv_registry *client(void)
{
    struct ocv_registry *registry = NULL;
    struct ocv_error err;
    ck_assert_int_eq(ocv_registry_new(NULL, &registry, &err), OCV_OK);
    ocv_registry_share(registry, downloads);
    return registry;
}

START_TEST(test_clients_take_turns)
{
    struct ocv_error err;
    ck_assert_int_eq(ocv_downloads_new(2, &downloads, &err), OCV_OK);
    struct ocv_registry *a = client(), *b = client(), *c = client();
    ck_assert(ocv_downloads_enter(a));
    ck_assert(ocv_downloads_enter(a));
    ck_assert(!ocv_downloads_enter(a)); /* waits, and asks again before others */
    ck_assert(!ocv_downloads_enter(b));
    ck_assert(!ocv_downloads_enter(c));
    ocv_downloads_leave(a);
    ck_assert(!ocv_downloads_enter(b));
    ck_assert(ocv_downloads_enter(a));
    ocv_downloads_leave(a);
    ck_assert(!ocv_downloads_enter(a)); /* now last in line */
    ck_assert(!ocv_downloads_enter(c));
    ck_assert(ocv_downloads_enter(b));
    ocv_downloads_leave(b);
    ocv_downloads_give_up(c);
    ck_assert(ocv_downloads_enter(a));
    ocv_downloads_leave(a);
    ocv_downloads_leave(a);
    ck_assert(ocv_downloads_enter(c));
    ck_assert(ocv_downloads_enter(c));
    ck_assert(!ocv_downloads_enter(c));
    ocv_registry_free(a);
    ocv_registry_free(b);
    ocv_downloads_give_up(c);
    ocv_registry_free(c);
    ocv_downloads_free(downloads);
}
END_TEST

static struct {
    pthread_mutex_t lock;
    unsigned held, most;
} places = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *take_places(void *data)
{
    struct ocv_registry *registry = data;
    for (unsigned got = 0; got < ROUNDS;) {
        if (!ocv_downloads_enter(registry)) {
            sched_yield();
            continue;
        }
        pthread_mutex_lock(&places.lock);
        places.held++;
        places.most = places.held > places.most ? places.held : places.most;
        pthread_mutex_unlock(&places.lock);
        sched_yield();
        pthread_mutex_lock(&places.lock);
        places.held--;
        pthread_mutex_unlock(&places.lock);
        ocv_downloads_leave(registry);
        got++;
    }
    ocv_downloads_give_up(registry);
    return NULL;
}

START_TEST(test_threads_never_hold_more)
{
    struct ocv_registry *clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct ocv_error err;
    ck_assert_int_eq(ocv_downloads_new(3, &downloads, &err), OCV_OK);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client();
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_places, clients[i]), 0);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_le(places.most, 3);
    ck_assert_uint_eq(places.held, 0);
    for (int i = 0; i < 3; i++) /* all were given back */
        ck_assert(ocv_downloads_enter(clients[0]));
    for (int i = 0; i < CLIENTS; i++)
        ocv_registry_free(clients[i]);
    ocv_downloads_free(downloads);
}
END_TEST

START_TEST(test_without_shared_downloads)
{
    downloads = NULL;
    struct ocv_registry *alone = client();
    for (int i = 0; i < 100; i++)
        ck_assert(ocv_downloads_enter(alone));
    ocv_downloads_leave(alone);
    ocv_downloads_give_up(alone);
    ocv_registry_free(alone);
}
END_TEST

RUN_TESTS("registry_downloads", test_clients_take_turns, test_threads_never_hold_more,
          test_without_shared_downloads)
