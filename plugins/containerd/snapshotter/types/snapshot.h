/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata of a snapshot, and its mount. */
#ifndef OCV_SNAPSHOTTER_SNAPSHOT_H
#define OCV_SNAPSHOTTER_SNAPSHOT_H

#include "plugins/containerd/snapshotter/types/labels.h"

#include <stdint.h>

#define SNAP_NAME_MAX 32768u /**< bytes of a key or name: bbolt's limit */
#define SNAP_CHAIN_MAX 1024u /**< parents of a snapshot; the kernel mounts 500 */

enum snap_kind { SNAP_VIEW = 1, SNAP_ACTIVE = 2, SNAP_COMMITTED = 3 };

struct snap_info {
    int64_t id;
    char *name, *parent; /**< parent is "" without one */
    enum snap_kind kind;
    int64_t created, updated; /**< nanoseconds since 1970 */
    int64_t size, inodes;     /**< of a committed one */
    struct ocv_buffer labels;
    bool damaged; /**< its row has malformed labels; `labels` is empty then */
};
void snap_info_free(struct snap_info *info);

/** Ids from the snapshot's own to that of its farthest ancestor. */
struct snap_chain {
    int64_t id;
    enum snap_kind kind;
    size_t n_parents;
    int64_t parents[SNAP_CHAIN_MAX]; /**< nearest first */
};

struct snap_usage {
    int64_t size, inodes;
};

/** The mount; one always suffices. */
struct snap_mount {
    char *type, *source;
    char *options[8];
    size_t n_options;
};
void snap_mount_free(struct snap_mount *mount);

#endif
