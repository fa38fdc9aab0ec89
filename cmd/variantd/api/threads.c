/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/api/api_threads.h"

#include <pthread.h>
#include <stddef.h>

#define USERS_MAX 64u /* users that are equal modulo this share a count */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t of_trusted, of_others, of_user[USERS_MAX];

bool api_thread_take(bool trusted, uid_t user)
{
    pthread_mutex_lock(&lock);
    size_t *mine = &of_user[user % USERS_MAX], rest = of_others - *mine;
    bool room = trusted ? of_trusted < API_TRUSTED_MAX : 2 * (*mine + 1) < API_OTHERS_MAX - rest;
    if (room && trusted) {
        of_trusted++;
    } else if (room) {
        of_others++;
        ++*mine;
    }
    pthread_mutex_unlock(&lock);
    return room;
}

void api_thread_give(bool trusted, uid_t user)
{
    pthread_mutex_lock(&lock);
    if (trusted) {
        of_trusted--;
    } else {
        of_others--;
        of_user[user % USERS_MAX]--;
    }
    pthread_mutex_unlock(&lock);
}

bool api_threads_run(void)
{
    pthread_mutex_lock(&lock);
    bool any = of_trusted || of_others;
    pthread_mutex_unlock(&lock);
    return any;
}
