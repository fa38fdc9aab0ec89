/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The administrator's configuration, which a reload replaces while calls use what they began with.
 */
#ifndef CRI_PROXY_LIVE_POLICY_H
#define CRI_PROXY_LIVE_POLICY_H

#include "plugins/common/verdict.h"

struct live_policy;
/** Read the file, as verdict_policy_read does. */
int live_policy_new(const char *file, struct live_policy **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
void live_policy_free(struct live_policy *live);
/** Read it again when it is next asked for; from a signal handler, too. A file that cannot be read
 *  changes nothing. */
void live_policy_reload(struct live_policy *live);
/** What holds now, until it is put back. Any thread. */
const struct verdict_policy *live_policy_get(struct live_policy *live);
/** How often it has been read. */
unsigned live_policy_generation(struct live_policy *live);
void live_policy_put(struct live_policy *live, const struct verdict_policy *policy);

#endif
