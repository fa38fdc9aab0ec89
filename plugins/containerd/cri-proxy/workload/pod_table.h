/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was chosen, in memory and on disk, in two tables:
 *
 *   choices  (reference as sent, wishes, devices) -> child
 *   pods     (reference, uid of the pod) -> child, so that a pod keeps its build as long as it
 *            lives; of a pod whose uid is not known yet its config.seen stands for it
 *
 * Kubelet takes a container's user from an ImageStatus that says nothing of the pod. So all rows of
 * a reference always have the same user: one that differs does not come in.
 *
 * DIR/choice-HEX.json and DIR/pod-HEX.json are a row each, HEX the SHA-256 of its key;
 * DIR/index-ALGORITHM-HEX is what choices were made of. Files appear by rename after fsync, before
 * the row is used; what is malformed is skipped at the start. Thread-safe. */
#ifndef CRI_PROXY_WORKLOAD_POD_TABLE_H
#define CRI_PROXY_WORKLOAD_POD_TABLE_H

#include "ocivariant.h"
#include "plugins/containerd/cri-proxy/pinned/pinned.h"

#define TABLE_CHOICES_MAX 1024u       /**< the oldest ones are dropped */
#define TABLE_PODS_MAX 4096u          /**< the same */
#define TABLE_USER_MAX 128u           /**< bytes of a user's name */
#define TABLE_DEVICES_MAX 4096u       /**< bytes of a set of devices */
#define TABLE_POD_MAX 128u            /**< bytes of a uid or config.seen */
#define TABLE_INDEX_MAX (512u * 1024) /**< bytes of an index; larger ones are not stored */

struct pod_table;
/** Open and read it; the directory is created when there is something to store. */
int table_open(const char *dir, struct pod_table **out, struct ocv_error *err) OCV_WARN_UNUSED;
void table_free(struct pod_table *table);

/** A choice's key. All texts are borrowed. */
struct table_key {
    const char *reference, *wishes, *devices;
};
/** A pod: by its uid ("" or NULL: unknown), else by its config.seen. */
struct table_pod {
    const char *uid, *seen;
};
/** Content of a row. */
struct table_value {
    char child[OCV_DIGEST_MAX];
    char index[OCV_DIGEST_MAX]; /**< digest of the index chosen from; for a single image its own */
    char user[TABLE_USER_MAX];  /**< as users_name gives it */
};

bool table_find_choice(struct pod_table *table, const struct table_key *key,
                       struct table_value *out);
bool table_find_pod(struct pod_table *table, const char *reference, const struct table_pod *pod,
                    struct table_value *out);
/** The child, if all choices with that reference and wishes have the same one, whatever their
 *  devices; false if there is none, or they differ. */
bool table_find_only(struct pod_table *table, const char *reference, const char *wishes,
                     struct table_value *out);
/** Distinct children of a reference, from both tables, newest first; at most `max`. */
size_t table_children(struct pod_table *table, const char *reference, char (*out)[OCV_DIGEST_MAX],
                      size_t max);
/** True if the digest is a child in any row of that repository. `name` is "HOST/REPOSITORY". */
bool table_knows_digest(struct pod_table *table, const char *name, const char *digest);

/** Store a choice, on disk first. Choices for the reference that have another user and were made
 *  from another index are dropped, since the tag has moved. OCV_ERR_CHECK if a pod's row has
 *  another user, with "variants of REFERENCE run as different users (A, B)". `body` (may be NULL):
 *  the index's bytes. */
int table_put_choice(struct pod_table *table, const struct table_key *key,
                     const struct table_value *value, const void *body, size_t len,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Store a pod's choice. If the pod has one already, that counts: it is copied to `value`, and at
 *  most its config.seen is updated. Otherwise like table_put_choice. */
int table_put_pod(struct pod_table *table, const char *reference, const struct table_pod *pod,
                  struct table_value *value, struct ocv_error *err) OCV_WARN_UNUSED;
void table_drop_choice(struct pod_table *table, const struct table_key *key);
void table_drop_pod(struct pod_table *table, const char *reference, const struct table_pod *pod);

/** A copy of a choice. table_get_choice copies the i-th one; false past the last. Free it with
 *  table_copy_free. */
struct table_copy {
    char *reference, *wishes, *devices;
    struct table_value value;
};
bool table_get_choice(struct pod_table *table, size_t i, struct table_copy *out);
void table_copy_free(struct table_copy *copy);
size_t table_count_pods(struct pod_table *table);
/** The stored bytes of an index, verified. OCV_ERR_NOT_FOUND if there are none. */
int table_index(struct pod_table *table, const char *digest, struct ocv_buffer *out,
                struct ocv_error *err) OCV_WARN_UNUSED;

/** Drop pods that are not in `live` (n of them, by uid and config.seen) and whose rows were stored
 *  before `since` (seconds of table_now's clock); add the uid to rows that have only config.seen.
 *  Removes indexes that no row names any more. */
void table_prune(struct pod_table *table, const struct table_pod *live, size_t n, int64_t since);
int64_t table_now(void);

#endif
