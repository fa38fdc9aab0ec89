/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the overlay back end: calls (overlay.c), mounts (mount.c), what interruptions leave
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
    bool owned; /* by the labels' mapping */
};

void snap_overlay_log(const struct snap_overlay *o, const char *what, const char *name);
/** By errno. */
enum grpc_code snap_overlay_failure(struct ocv_error *err, const char *what, const char *name);
enum grpc_code snap_overlay_mount(const struct snap_overlay *o, const struct snap_chain *chain,
                                  const struct ocv_buffer *labels, struct snap_mount *m,
                                  struct ocv_error *err);

/* ---- directories: 0, or -1 with errno
 * --------------------------------------------------------------
 */

/** Move aside what an interrupted creation left under a new snapshot's name. */
int snap_overlay_move_aside(struct snap_overlay *o, const char *name);
int snap_overlay_make_directory(struct snap_overlay *o, const char *name);
int snap_overlay_make_inside(struct snap_overlay *o, const char *name,
                             const struct snap_chain *chain, const struct snap_placement *p);

/** At the start: every row has its directory. */
enum grpc_code snap_overlay_check(struct snap_overlay *o, struct ocv_error *err);

/** Options that every overlay mount here needs: "index=off", "userxattr" (options.c). At most 4. */
size_t snap_overlay_options(const char *root, const char *options[4]);

/* ---- trees that images and containers made --------------------------------------------------- */

/** Remove DIRFD/NAME and what is below, however deep. 0, or -1 with errno. */
int snap_tree_remove(int dirfd, const char *name);
/** Blocks and inodes below, each inode once, the directory itself too; never by a link, while
 * others change what is there. `call` (may be NULL): give up when its caller has. */
enum grpc_code snap_tree_usage(const char *path, struct grpc_call *call, struct snap_usage *out,
                               struct ocv_error *err);

#endif
