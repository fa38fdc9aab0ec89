/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the proxy chose, in DIR/state.db (SQLite): ImageStatus and RemoveImage have no credentials
 * with which to find out, and must know it after a restart of proxy, engine or node.
 *
 *   pinned   reference of an index -> child
 *   choices  (reference as sent, wishes, devices) -> child          for `workload: on`
 *   pods     (reference, uid of the pod) -> child, so that a pod keeps its build as long as it
 *            lives; of a pod whose uid is not known yet its config.seen stands for it
 *   indexes  the bytes that choices were made from, to choose again when the node has changed
 *
 * Kubelet takes a container's user from an ImageStatus that says nothing of the pod. So all choices
 * and pods of a reference always have the same user: one that differs does not come in.
 *
 * What a function stores is on disk when it returns. Thread-safe; readers do not wait for the disk.
 * A database that is damaged, or of a later version, is set aside: everything in it can be chosen
 * again at the next pull. */
#ifndef CRI_PROXY_STATE_H
#define CRI_PROXY_STATE_H

#include "plugins/containerd/cri-proxy/request/pinned.h"

#define STATE_PINNED_MAX 1024u        /**< rows; the oldest ones are dropped */
#define STATE_CHOICES_MAX 1024u       /**< the same */
#define STATE_PODS_MAX 4096u          /**< the same */
#define STATE_INDEX_MAX (512u * 1024) /**< bytes of an index; larger ones are not stored */
#define STATE_USER_MAX 128u           /**< bytes of a user's name */
#define STATE_DEVICES_MAX 4096u       /**< bytes of a set of devices */
#define STATE_POD_MAX 128u            /**< bytes of a uid or config.seen */

struct state;
/** Open or create it, and take over the files that earlier versions kept in `dir`, and in
 *  `old_dir` (NULL: none), which another user could write to: of that only pinned ones whose
 *  index is there and lists the child. */
int state_open(const char *dir, const char *old_dir, struct state **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void state_free(struct state *state);
/** The bytes of an index, verified. OCV_ERR_NOT_FOUND if there are none. */
int state_index(struct state *state, const char *digest, struct ocv_buffer *out,
                struct ocv_error *err) OCV_WARN_UNUSED;

/* Pinned indexes; the key is that of pinned_key. */

/** The child for a key; false if there is none. */
bool state_find_pinned(struct state *state, const char *key, char child[OCV_DIGEST_MAX]);
/** Store a choice. `index`: the bytes it was made from, or NULL. */
int state_put_pinned(struct state *state, const char *key, const char *child, const void *index,
                     size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** The first key after `key` ("": of all), which it replaces, and its child; false past the last.
 */
bool state_next_pinned(struct state *state, char key[PINNED_TEXT_MAX], char child[OCV_DIGEST_MAX]);
/** `text`, which `reference` was parsed from, with the child in place of the index. False: leave it
 *  unchanged, as it is not pinned or unknown here. */
bool state_rewrite(struct state *state, const struct ocv_reference *reference, const char *text,
                   char out[PINNED_TEXT_MAX]);
/** True if this child of the key was seen in the registry since the start, and no pull of it has
 *  failed since. Asking the registry again would then give nothing new, because the digest fixes
 *  the content. `child` "": the key is known to be an image or an index without variants, which
 *  never changes. In memory alone, as what follows. */
bool state_checked(struct state *state, const char *key, const char *child);
void state_set_checked(struct state *state, const char *key, const char *child);
void state_set_unchecked(struct state *state, const char *key);

/* Choices for a workload, and pods. All texts are borrowed. */

struct state_key {
    const char *reference, *wishes, *devices;
};
/** A pod: by its uid ("" or NULL: unknown), else by its config.seen. */
struct state_pod {
    const char *uid, *seen;
};
struct state_value {
    char child[OCV_DIGEST_MAX];
    char index[OCV_DIGEST_MAX]; /**< digest of the index chosen from; for a single image its own */
    char user[STATE_USER_MAX];  /**< as users_name gives it */
};

bool state_find_choice(struct state *state, const struct state_key *key, struct state_value *out);
bool state_find_pod(struct state *state, const char *reference, const struct state_pod *pod,
                    struct state_value *out);
/** The child, if all choices with that reference and wishes have the same one, whatever their
 *  devices; false if there is none, or they differ. */
bool state_find_only(struct state *state, const char *reference, const char *wishes,
                     struct state_value *out);
/** Distinct children of a reference, of choices and pods, newest first; at most `max`. */
size_t state_children(struct state *state, const char *reference, char (*out)[OCV_DIGEST_MAX],
                      size_t max);
/** True if the digest is a child in any choice or pod of that repository, "HOST/REPOSITORY". */
bool state_knows_digest(struct state *state, const char *name, const char *digest);

/** Store a choice. Choices for the reference that have another user and were made from another
 *  index are dropped, since the tag has moved. OCV_ERR_CHECK if a pod has another user, with
 *  "variants of REFERENCE run as different users (A, B)". `body` (may be NULL): the index's bytes.
 */
int state_put_choice(struct state *state, const struct state_key *key,
                     const struct state_value *value, const void *body, size_t len,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Store a pod's choice. If the pod has one already, that counts: it is copied to `value`, and at
 *  most its uid and config.seen are updated. Otherwise like state_put_choice. */
int state_put_pod(struct state *state, const char *reference, const struct state_pod *pod,
                  struct state_value *value, struct ocv_error *err) OCV_WARN_UNUSED;
void state_drop_choice(struct state *state, const struct state_key *key);
void state_drop_pod(struct state *state, const char *reference, const struct state_pod *pod);

/** A copy of a choice. state_next_choice gives the first one after `after` (0: of all), which it
 *  updates; false past the last one. Free it with state_copy_free. */
struct state_copy {
    char *reference, *wishes, *devices;
    struct state_value value;
};
bool state_next_choice(struct state *state, int64_t *after, struct state_copy *out);
void state_copy_free(struct state_copy *copy);

size_t state_count_pods(struct state *state);
/** Drop pods that are not in `live` (n of them) and whose rows were stored before `since` (seconds
 *  since 1970); add the uid to rows that have only config.seen. Removes indexes that no row names
 *  any more. */
void state_prune(struct state *state, const struct state_pod *live, size_t n, int64_t since);

#endif
