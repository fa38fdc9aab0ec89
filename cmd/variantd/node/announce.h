/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node can run, on its own Node object of Kubernetes (--announce kubernetes): the label
 * dev.ocivariant/class and the annotation dev.ocivariant/profile, with the token of this pod. */
#ifndef VARIANTD_ANNOUNCE_H
#define VARIANTD_ANNOUNCE_H

#include "ocivariant.h"

struct announcer;
/** Begin: a thread that asks the API server. The node's name is $NODE_NAME; the API server that of
 *  $KUBERNETES_SERVICE_HOST and _PORT; token and ca.crt are in `account`, read each time,
 * since tokens are changed. OCV_ERR_CONFIG: not in a pod, or NODE_NAME is not a node's name. */
int announcer_new(const char *account, struct announcer **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** End it; what is under way is cut. */
void announcer_free(struct announcer *announcer);
/** What is to be said. Returns at once; the same as before is not said again but every hour. What
 *  fails is logged, once, and tried again. */
void announcer_tell(struct announcer *announcer, const struct ocv_profile *profile);

/** The change of a Node as JSON (a merge patch), owned; NULL where memory is short. `essence`
 *  (ocv_profile_essence): NULL takes the annotation away. */
char *announce_patch(const char *class, const char *essence);

#endif
