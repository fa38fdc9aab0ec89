/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who asks over the unix socket, and how many threads they may take. */
#include "cmd/variantd/api/api.h"

#include <grp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP "ocivariant"
#define GROUPS_MAX 1024

bool api_trusted(struct MHD_Connection *connection, uid_t *user)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    gid_t groups[GROUPS_MAX];
    socklen_t len = sizeof(peer);
    *user = (uid_t)-1;
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    *user = peer.uid;
    if (peer.uid == 0 || peer.uid == geteuid())
        return true;
    /* is it in our group? */
    struct group entry, *found = NULL;
    char text[16384];
    if (getgrnam_r(GROUP, &entry, text, sizeof(text), &found) != 0 || !found)
        return false;
    if (peer.gid == entry.gr_gid)
        return true;
    len = sizeof(groups);
    if (getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
        return false;
    for (size_t i = 0; i < len / sizeof(*groups); i++)
        if (groups[i] == entry.gr_gid)
            return true;
    return false;
}

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
