/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The back end that stores snapshots itself: directories, and rows in `meta`. */
#ifndef OCV_SNAPSHOTTER_OVERLAY_H
#define OCV_SNAPSHOTTER_OVERLAY_H

#include "plugins/containerd/snapshotter/meta/meta.h"

struct snap_overlay;
int snap_overlay_open(const char *root, bool remap_ids, struct snap_meta *meta,
                      void (*log)(const char *line), struct snap_overlay **out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
void snap_overlay_free(struct snap_overlay *overlay);
enum grpc_code snap_overlay_create(struct snap_overlay *overlay, enum snap_kind kind,
                                   const char *key, const char *parent,
                                   const struct ocv_buffer *labels, struct snap_mount *out,
                                   struct ocv_error *err);
enum grpc_code snap_overlay_mounts(struct snap_overlay *overlay, const char *key,
                                   struct snap_mount *out, struct ocv_error *err);
enum grpc_code snap_overlay_commit(struct snap_overlay *overlay, const char *name, const char *key,
                                   const char *parent, const struct ocv_buffer *labels,
                                   struct grpc_call *call, struct ocv_error *err);
enum grpc_code snap_overlay_remove(struct snap_overlay *overlay, const char *key,
                                   struct ocv_error *err);
enum grpc_code snap_overlay_usage(struct snap_overlay *overlay, const char *key,
                                  struct grpc_call *call, struct snap_usage *out,
                                  struct ocv_error *err);
/** Remove every directory that belongs to no snapshot. */
enum grpc_code snap_overlay_cleanup(struct snap_overlay *overlay, struct ocv_error *err);

#endif
