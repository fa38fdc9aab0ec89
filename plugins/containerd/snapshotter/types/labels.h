/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot's labels in one buffer: "key NUL value NUL ..." in key order. An empty value means no
 * label. */
#ifndef OCV_SNAPSHOTTER_LABELS_H
#define OCV_SNAPSHOTTER_LABELS_H

#include "plugins/containerd/snapshotter/types/failure.h"

#include <stdbool.h>
#include <stddef.h>

#define SNAP_LABEL_MAX 4096u         /**< key and value of one label together: containerd's limit */
#define SNAP_LABELS_MAX (64u * 1024) /**< all labels of a snapshot together */

#define SNAP_LABEL_REF "containerd.io/snapshot.ref"
#define SNAP_LABEL_PREFIX "containerd.io/snapshot/"
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

#endif
