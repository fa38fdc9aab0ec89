/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As which user images run. Of two children of one reference with different users kubelet would
 * start one as the user of the other. */
#ifndef CRI_PROXY_WORKLOAD_USERS_H
#define CRI_PROXY_WORKLOAD_USERS_H

#include "lib/core/image_user.h"
#include "ocivariant-registry.h"
#include "plugins/containerd/cri-proxy/workload/pod_table.h"

#define USERS_ENTRIES_MAX 256u /**< of one index */
#define USERS_CACHE_MAX 1024u  /**< images whose user is remembered, in memory */

struct users;
int users_new(struct users **out, struct ocv_error *err) OCV_WARN_UNUSED;
void users_free(struct users *users);
/** The user of all of these images of the reference's repository, asked of the registry where it is
 *  not remembered: a digest's config never changes. Different ones: OCV_ERR_CHECK, "variants of
 * NAME run as different users (1000, root)". */
int users_same(struct users *users, struct ocv_registry *registry,
               const struct ocv_reference *reference, const char *name,
               const struct ocv_entry *const *entries, size_t n, char out[OCV_IMAGE_USER_MAX],
               struct ocv_error *err) OCV_WARN_UNUSED;

/** The user of an image if it is remembered. */
bool users_recall(struct users *users, const char *digest, char out[OCV_IMAGE_USER_MAX]);

#endif
