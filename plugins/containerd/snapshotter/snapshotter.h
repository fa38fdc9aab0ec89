/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-snapshotter: containerd's Snapshots service over gRPC (docs/refusing.md).
 *
 *   service   the calls; message: to and from protobuf; list: List
 *   judge     does the image fit this node? asked at Prepare
 *   overlay   back end of its own: directories, and rows of `meta`
 *   relay     back end behind another socket
 *   meta      what is known of snapshots, in SQLite
 *   filter    List's filters
 *
 * The words and the answers are containerd's own overlayfs snapshotter's: its users cannot tell one
 * from the other. Functions that answer a call return its gRPC code and put the text into `err`. */
#ifndef OCV_SNAPSHOTTER_H
#define OCV_SNAPSHOTTER_H

#include "lib/grpc/grpc.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAP_NAME_MAX 32768u                /**< bytes of a key or name: bbolt's limit */
#define SNAP_LABEL_MAX 4096u                /**< of a label, key and value together: containerd's */
#define SNAP_LABELS_MAX (64u * 1024)        /**< of a snapshot's labels together */
#define SNAP_REQUEST_MAX (1024u * 1024)     /**< bytes of a request that is decoded here */
#define SNAP_DECODED_MAX (8u * 1024 * 1024) /**< memory that decoding one may take */
#define SNAP_CHAIN_MAX 1024u                /**< parents of a snapshot; the kernel mounts 500 */
#define SNAP_FILTERS_MAX 256u               /**< filters of a List */
#define SNAP_PAGE 100u                      /**< infos in a message of List, as containerd's */

#define SNAP_LABEL_REF "containerd.io/snapshot.ref"
#define SNAP_LABEL_PREFIX "containerd.io/snapshot/"
/** Ours on a snapshot: what the judge said under `warn`. Survives Commit. */
#define SNAP_LABEL_OURS "dev.ocivariant."
#define SNAP_LABEL_VERDICT SNAP_LABEL_OURS "verdict"
#define SNAP_LABEL_REASON SNAP_LABEL_OURS "reason"

enum snap_kind { SNAP_VIEW = 1, SNAP_ACTIVE = 2, SNAP_COMMITTED = 3 };

/** Fill `err` and return `code`. */
enum grpc_code snap_fail(struct ocv_error *err, enum grpc_code code, const char *format, ...)
    OCV_PRINTF(3, 4);

/* ---- labels (labels.c): "key NUL value NUL ..." in key order; a missing value is an empty one ---
 */

void snap_labels_init(struct ocv_buffer *labels);
/** The value, or NULL. */
const char *snap_labels_get(const struct ocv_buffer *labels, const char *key);
/** An empty value removes the label, as containerd's does. */
enum grpc_code snap_labels_set(struct ocv_buffer *labels, const char *key, const char *value,
                               struct ocv_error *err);
/** Are these keys and values, each of the keys with a value and behind the one before? */
bool snap_labels_sound(const char *bytes, size_t len);
/** Step through: `*at` starts at 0. False at the end. */
bool snap_labels_next(const struct ocv_buffer *labels, size_t *at, const char **key,
                      const char **value);
enum grpc_code snap_labels_copy(struct ocv_buffer *out, const struct ocv_buffer *labels,
                                struct ocv_error *err);

/* ---- infos -------------------------------------------------------------------------------------
 */

struct snap_info {
    int64_t id;
    char *name, *parent; /**< parent is "" without one */
    enum snap_kind kind;
    int64_t created, updated; /**< nanoseconds since 1970 */
    int64_t size, inodes;     /**< of a committed one */
    struct ocv_buffer labels;
};
void snap_info_free(struct snap_info *info);

/** Ids from the snapshot's own to its farthest parent's. */
struct snap_chain {
    int64_t id;
    enum snap_kind kind;
    size_t n_parents;
    int64_t parents[SNAP_CHAIN_MAX]; /**< nearest first */
};

struct snap_usage {
    int64_t size, inodes;
};

/* ---- meta*.c: thread-safe; every function is one transaction ------------------------------------
 */

struct snap_meta;
int snap_meta_open(const char *path, struct snap_meta **out, struct ocv_error *err) OCV_WARN_UNUSED;
void snap_meta_close(struct snap_meta *meta);
/** Insert an active snapshot or a view. `place` makes its directory inside the transaction, while
 *  nobody else writes; when it fails nothing has happened. */
enum grpc_code snap_meta_create(struct snap_meta *meta, enum snap_kind kind, const char *name,
                                const char *parent, const struct ocv_buffer *labels,
                                enum grpc_code (*place)(void *data, const struct snap_chain *chain,
                                                        struct ocv_error *err),
                                void *data, struct snap_chain *chain, struct ocv_error *err);
enum grpc_code snap_meta_chain(struct snap_meta *meta, const char *name, struct snap_chain *chain,
                               struct ocv_buffer *labels, struct ocv_error *err);
/** The active snapshot `key` becomes the committed `name`. `parent`: rebase one without parent. */
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
/** Up to SNAP_PAGE infos with ids above `after`, in their order. `visit` non-zero stops. */
enum grpc_code snap_meta_page(struct snap_meta *meta, int64_t after, size_t *n,
                              int (*visit)(void *data, const struct snap_info *info), void *data,
                              struct ocv_error *err);
/** Call `visit` while no snapshot can come or go; `snap_meta_known` only from there. */
enum grpc_code snap_meta_freeze(struct snap_meta *meta, enum grpc_code (*visit)(void *data),
                                void *data, struct ocv_error *err);
bool snap_meta_known(struct snap_meta *meta, int64_t id, enum snap_kind *kind);
/** Keep room on the disk for snap_meta_remove, again where it was needed, if there is some. */
void snap_meta_reserve(struct snap_meta *meta);

/** A variant that is known to have been unpacked to a chain of layers. */
struct snap_variant {
    char *ns, *chain, *label, *properties, *digest, *reference;
};
enum grpc_code snap_meta_variant_add(struct snap_meta *meta, const struct snap_variant *variant,
                                     struct ocv_error *err);
enum grpc_code snap_meta_variants(struct snap_meta *meta, const char *ns, const char *chain,
                                  int (*visit)(void *data, const struct snap_variant *variant),
                                  void *data, struct ocv_error *err);
/** Unless another snapshot here has, or gets, that chain. */
enum grpc_code snap_meta_variants_drop(struct snap_meta *meta, const char *ns, const char *chain,
                                       struct ocv_error *err);

/* ---- back ends ---------------------------------------------------------------------------------
 */

/** What to mount; one mount always suffices. */
struct snap_mount {
    char *type, *source;
    char *options[8];
    size_t n_options;
};
void snap_mount_free(struct snap_mount *mount);

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

/** Options that every overlay mount here needs: "index=off", "userxattr" (options.c). At most 4. */
size_t snap_overlay_options(const char *root, const char *options[4]);

/* ---- directories (tree.c)
 * --------------------------------------------------------------------------
 */

/** Remove DIRFD/NAME and what is below, however deep. 0, or -1 with errno. */
int snap_tree_remove(int dirfd, const char *name);
/** Blocks and inodes below, each inode once, the directory itself too; never by a link, while
 * others change what is there. `call` (may be NULL): give up when its caller has. */
enum grpc_code snap_tree_usage(const char *path, struct grpc_call *call, struct snap_usage *out,
                               struct ocv_error *err);

/* ---- filters (filter.c) -----------------------------------------------------------------------
 */

struct snap_filter;
/** Any of `texts` must match; none match everything. Malformed: GRPC_INVALID_ARGUMENT. */
enum grpc_code snap_filter_new(char *const *texts, size_t n, struct snap_filter **out,
                               struct ocv_error *err);
void snap_filter_free(struct snap_filter *filter);
bool snap_filter_match(const struct snap_filter *filter, const struct snap_info *info);

/** Tests kill the process at a named step; empty in what is installed. */
#ifdef OCV_CRASH_POINTS
void snap_crash_point(const char *name);
#else
#define snap_crash_point(name) ((void)0)
#endif

#endif
