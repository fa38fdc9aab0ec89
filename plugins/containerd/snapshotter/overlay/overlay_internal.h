/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of the overlay back end: calls (overlay.c), mounts (mount.c), remains of interruptions
 * (cleanup.c). */
#ifndef OCV_SNAPSHOTTER_OVERLAY_INTERNAL_H
#define OCV_SNAPSHOTTER_OVERLAY_INTERNAL_H

#include "plugins/containerd/snapshotter/overlay/overlay.h"

#include <sys/types.h>

#define LABEL_UIDS SNAP_LABEL_PREFIX "uidmapping"
#define LABEL_GIDS SNAP_LABEL_PREFIX "gidmapping"

struct snap_overlay {
    char *directory; /* ROOT/snapshots */
    int fd;
    struct snap_meta *meta;
    bool remap_ids;
    void (*log)(const char *line);
    const char *options[4];
    size_t n_options;
    unsigned aside; /* number of the next rm- name; under meta's lock */
};

struct snap_placement {
    struct snap_overlay *overlay;
    uid_t uid;
    gid_t gid;
    bool owned; /* set from the labels' mapping */
};

void snap_overlay_log(const struct snap_overlay *o, const char *what, const char *name);
/** From errno. */
enum grpc_code snap_overlay_failure(struct ocv_error *err, const char *what, const char *name);
enum grpc_code snap_overlay_mount(const struct snap_overlay *o, const struct snap_chain *chain,
                                  const struct ocv_buffer *labels, struct snap_mount *m,
                                  struct ocv_error *err);

/** Move aside what an interrupted creation left under a new snapshot's name. */
int snap_overlay_move_aside(struct snap_overlay *o, const char *name);
int snap_overlay_make_directory(struct snap_overlay *o, const char *name);
int snap_overlay_make_inside(struct snap_overlay *o, const char *name,
                             const struct snap_chain *chain, const struct snap_placement *p);

/** At the start: check that every row has its directory. */
enum grpc_code snap_overlay_check(struct snap_overlay *o, struct ocv_error *err);

/** Options that every overlay mount here needs: "index=off", "userxattr" (options.c). At most 4. */
size_t snap_overlay_options(const char *root, const char *options[4]);

/** Remove DIRFD/NAME and everything below, at any depth. 0, or -1 with errno. */
int snap_tree_remove(int dirfd, const char *name);
/** Blocks and inodes below and including the directory, each inode once. Follows no link, even if
 *  others change the tree meanwhile. `call` (may be NULL): stop when its caller has gone. */
enum grpc_code snap_tree_usage(const char *path, struct grpc_call *call, struct snap_usage *out,
                               struct ocv_error *err);

#endif
