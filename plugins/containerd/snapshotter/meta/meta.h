/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata of snapshots, in SQLite. Thread-safe; every function is one transaction. */
#ifndef OCV_SNAPSHOTTER_META_H
#define OCV_SNAPSHOTTER_META_H

#include "plugins/containerd/snapshotter/types/snapshot.h"

#define SNAP_PAGE 100u /**< infos per page, and per message of List, as in containerd */

struct snap_meta;
int snap_meta_open(const char *path, struct snap_meta **out, struct ocv_error *err) OCV_WARN_UNUSED;
void snap_meta_close(struct snap_meta *meta);
/** Insert an active snapshot or a view. `place` creates its directory inside the transaction, while
 *  there are no other writers; if it fails, nothing changes. */
enum grpc_code snap_meta_create(struct snap_meta *meta, enum snap_kind kind, const char *name,
                                const char *parent, const struct ocv_buffer *labels,
                                enum grpc_code (*place)(void *data, const struct snap_chain *chain,
                                                        struct ocv_error *err),
                                void *data, struct snap_chain *chain, struct ocv_error *err);
enum grpc_code snap_meta_chain(struct snap_meta *meta, const char *name, struct snap_chain *chain,
                               struct ocv_buffer *labels, struct ocv_error *err);
/** Turn the active snapshot `key` into the committed `name`. `parent`: rebase a snapshot without
 *  parent. */
enum grpc_code snap_meta_commit(struct snap_meta *meta, const char *name, const char *key,
                                const char *parent, const struct ocv_buffer *labels,
                                struct snap_usage usage, struct ocv_error *err);
enum grpc_code snap_meta_remove(struct snap_meta *meta, const char *name, int64_t *id,
                                struct ocv_error *err);
enum grpc_code snap_meta_stat(struct snap_meta *meta, const char *name, struct snap_info *out,
                              struct ocv_error *err);
/** `paths`: "labels" or "labels.KEY"; none: all labels. */
enum grpc_code snap_meta_update(struct snap_meta *meta, const char *name,
                                const struct ocv_buffer *labels, char *const *paths, size_t n_paths,
                                struct snap_info *out, struct ocv_error *err);
/** Up to SNAP_PAGE infos with ids above `after`, in order, including damaged ones. `visit` stops by
 *  returning non-zero. */
enum grpc_code snap_meta_page(struct snap_meta *meta, int64_t after, size_t *n,
                              int (*visit)(void *data, const struct snap_info *info), void *data,
                              struct ocv_error *err);
/** Call `visit` while no snapshot can be added or removed; call `snap_meta_known` only from
 *  there. */
enum grpc_code snap_meta_freeze(struct snap_meta *meta, enum grpc_code (*visit)(void *data),
                                void *data);
bool snap_meta_known(struct snap_meta *meta, int64_t id);
/** Reserve disk space for snap_meta_remove, or reserve it again after use, if there is space. */
void snap_meta_reserve(struct snap_meta *meta);

/** A variant known to have been unpacked to a chain of layers. */
struct snap_variant {
    char *ns, *chain, *label, *properties, *digest, *reference;
};
enum grpc_code snap_meta_variant_add(struct snap_meta *meta, const struct snap_variant *variant,
                                     struct ocv_error *err);
enum grpc_code snap_meta_variants(struct snap_meta *meta, const char *ns, const char *chain,
                                  int (*visit)(void *data, const struct snap_variant *variant),
                                  void *data, struct ocv_error *err);
/** Drop it unless another snapshot here has that chain, or is getting it. */
enum grpc_code snap_meta_variants_drop(struct snap_meta *meta, const char *ns, const char *chain,
                                       struct ocv_error *err);

#endif
