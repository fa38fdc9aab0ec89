/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Paths of this project's files and sockets. Directories that are chosen at build time are in the
 * generated datadir.h and libexecdir.h. */
#ifndef OCV_PATHS_H
#define OCV_PATHS_H

#define OCV_PATH_CONFIG "/etc/ocivariant/config.yaml"
#define OCV_PATH_PROVIDERS "/etc/ocivariant/providers.d" /**< the administrator's providers */
#define OCV_PATH_TAG_RULES "/etc/ocivariant/tags.d"      /**< and tag rules */
#define OCV_PATH_SOCKET "/run/ocivariant/variantd.sock"  /**< of the daemon's API */
/** Of the mirror. Below 1024, so that no other user can take the port while variantd is down; not
 * assigned by IANA; and below 512, where bindresvport(3) and NFS do not look for a free one. */
#define OCV_LISTEN "127.0.0.1:340"
/** Used instead where that one is not allowed (rootless, started by hand). */
#define OCV_LISTEN_UNPRIVILEGED "127.0.0.1:5050"
#define OCV_PATH_STATE "/var/lib/ocivariant"
#define OCV_PATH_RECORDS OCV_PATH_STATE "/resolved" /**< what was resolved on this node */
/** What variantctl setup did, and what files were before: root's alone, so not in a directory that
 *  belongs to the daemon's user, who could put another one in its place. */
#define OCV_PATH_SETUP "/var/lib/ocivariant-setup"
/** What pinned indexes became: root's alone, too. */
#define OCV_PATH_CRI_PROXY "/var/lib/ocivariant-cri-proxy"

#endif
