/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/api/api_peer.h"

#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP "ocivariant"
#define GROUPS_MAX 1024

static bool in_group(int fd, gid_t primary)
{
    gid_t groups[GROUPS_MAX];
    socklen_t len = sizeof(groups);
    struct group entry, *found = NULL;
    char text[16384];
    if (getgrnam_r(GROUP, &entry, text, sizeof(text), &found) != 0 || !found)
        return false;
    if (primary == entry.gr_gid)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
        return false;
    for (size_t i = 0; i < len / sizeof(*groups); i++)
        if (groups[i] == entry.gr_gid)
            return true;
    return false;
}

bool api_trusted(struct MHD_Connection *connection, uid_t *user)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t len = sizeof(peer);
    *user = (uid_t)-1;
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    *user = peer.uid;
    return peer.uid == 0 || peer.uid == geteuid() || in_group(info->connect_fd, peer.gid);
}
