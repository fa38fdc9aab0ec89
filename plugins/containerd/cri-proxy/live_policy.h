/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The administrator's configuration. A reload replaces it, while running calls keep the one they
 * began with. */
#ifndef CRI_PROXY_LIVE_POLICY_H
#define CRI_PROXY_LIVE_POLICY_H

#include "plugins/common/verdict.h"

struct live_policy;
/** Read the file with verdict_policy_read. */
int live_policy_new(const char *file, struct live_policy **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void live_policy_free(struct live_policy *live);
/** Read it again on the next request; may be called from a signal handler. If the file cannot be
 *  read, the old configuration stays. */
void live_policy_reload(struct live_policy *live);
/** The current policy, until live_policy_put. Any thread. */
const struct verdict_policy *live_policy_get(struct live_policy *live);
/** Number of times that it was read. */
unsigned live_policy_generation(struct live_policy *live);
void live_policy_put(struct live_policy *live, const struct verdict_policy *policy);

#endif
