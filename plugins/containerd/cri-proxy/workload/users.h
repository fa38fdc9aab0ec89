/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The users that images run as. If two children of one reference had different users, kubelet would
 * start one of them as the other's user. */
#ifndef CRI_PROXY_WORKLOAD_USERS_H
#define CRI_PROXY_WORKLOAD_USERS_H

#include "lib/core/image_user.h"
#include "ocivariant-registry.h"
#include "plugins/containerd/cri-proxy/workload/pod_table.h"

#define USERS_ENTRIES_MAX 256u /**< of one index */
#define USERS_CACHE_MAX 1024u  /**< images whose user is kept in memory */

struct users;
int users_new(struct users **out, struct ocv_error *err) OCV_WARN_UNUSED;
void users_free(struct users *users);
/** The user of all these images in the reference's repository. A user that is not cached is read
 *  from the registry; a digest's config never changes. OCV_ERR_CHECK if they differ: "variants of
 *  NAME run as different users (1000, root)". */
int users_same(struct users *users, struct ocv_registry *registry,
               const struct ocv_reference *reference, const char *name,
               const struct ocv_entry *const *entries, size_t n, char out[OCV_IMAGE_USER_MAX],
               struct ocv_error *err) OCV_WARN_UNUSED;

/** An image's user if it is cached. */
bool users_recall(struct users *users, const char *digest, char out[OCV_IMAGE_USER_MAX]);

#endif
