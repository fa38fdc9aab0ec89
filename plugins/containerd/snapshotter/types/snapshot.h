/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata of a snapshot, and its mount. */
#ifndef OCV_SNAPSHOTTER_SNAPSHOT_H
#define OCV_SNAPSHOTTER_SNAPSHOT_H

#include "lib/internal/grpc/grpc.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stddef.h>
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

/* Failures of calls. Functions that answer a call return its gRPC code and put the text into `err`.
 * Codes and texts are those of containerd's overlayfs snapshotter, so that users cannot tell the
 * two apart. */

/** Fill `err` and return `code`. */
enum grpc_code snap_fail(struct ocv_error *err, enum grpc_code code, const char *format, ...)
    OCV_PRINTF(3, 4);

/* A snapshot's labels in one buffer: "key NUL value NUL ..." in key order. An empty value means no
 * label. */

#define SNAP_LABEL_MAX 4096u         /**< key and value of one label together: containerd's limit */
#define SNAP_LABELS_MAX (64u * 1024) /**< all labels of a snapshot together */

#define SNAP_LABEL_REF "containerd.io/snapshot.ref"
#define SNAP_LABEL_PREFIX "containerd.io/snapshot/"
/** The snapshot below an unpacked one (containerd 2.3 and newer), also while it has no parent. */
#define SNAP_LABEL_PARENT SNAP_LABEL_PREFIX "parent-chain-id"
/** Prefix of our labels on a snapshot: the verdict under the action `warn`. They survive Commit. */
#define SNAP_LABEL_OURS "dev.ocivariant."
#define SNAP_LABEL_VERDICT SNAP_LABEL_OURS "verdict"
#define SNAP_LABEL_REASON SNAP_LABEL_OURS "reason"

void snap_labels_init(struct ocv_buffer *labels);
/** The value, or NULL. */
const char *snap_labels_get(const struct ocv_buffer *labels, const char *key);
/** An empty value removes the label, as in containerd. */
enum grpc_code snap_labels_set(struct ocv_buffer *labels, const char *key, const char *value,
                               struct ocv_error *err);
/** True if the bytes are labels: each key has a value and follows the previous key. */
bool snap_labels_sound(const char *bytes, size_t len);
/** Iterate: `*at` starts at 0. False at the end. */
bool snap_labels_next(const struct ocv_buffer *labels, size_t *at, const char **key,
                      const char **value);
enum grpc_code snap_labels_copy(struct ocv_buffer *out, const struct ocv_buffer *labels,
                                struct ocv_error *err);

/** Kills the process at a named step, for tests; empty in installed programs. */
#ifdef OCV_CRASH_POINTS
void snap_crash_point(const char *name);
#else
#define snap_crash_point(name) ((void)0)
#endif

#endif
