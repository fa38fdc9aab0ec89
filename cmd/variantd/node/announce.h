/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Announces what this node can run on its Kubernetes Node object (--announce kubernetes): the label
 * dev.ocivariant/class and the annotation dev.ocivariant/profile, set with this pod's token. */
#ifndef VARIANTD_ANNOUNCE_H
#define VARIANTD_ANNOUNCE_H

#include "ocivariant.h"

struct announcer;
/** Start a thread that talks to the API server. The node's name is $NODE_NAME, the API server
 *  $KUBERNETES_SERVICE_HOST and _PORT. Token and ca.crt in `account` are read for each request,
 *  since tokens are renewed. OCV_ERR_CONFIG: not in a pod, or NODE_NAME is not a node's name. */
int announcer_new(const char *account, struct announcer **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop and free; a running request is cut off. */
void announcer_free(struct announcer *announcer);
/** Announce a profile. Returns immediately. An unchanged profile is sent again only every hour.
 *  Failures are logged once, and retried. */
void announcer_update(struct announcer *announcer, const struct ocv_profile *profile);

/** The change of a Node as JSON (a merge patch), owned by the caller; NULL without memory.
 *  `essence` (ocv_profile_essence): NULL removes the annotation. */
char *announce_patch(const char *class, const char *essence);

#endif
