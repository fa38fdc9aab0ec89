/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks variantd over its socket whether an image fits this node, and applies the administrator's
 * policy to the answer (docs/refusing.md). Used by every hook. Without libcurl: a hook runs at
 * every pull or container start, and has a few milliseconds. */
#ifndef OCV_PLUGIN_VERDICT_H
#define OCV_PLUGIN_VERDICT_H

#include "lib/internal/config/config.h"
#include "lib/internal/records/daemon.h"
#include "ocivariant.h"

#define VERDICT_TIMEOUT_MS 2000u /**< later answers count as none */

enum verdict_action { VERDICT_ALLOW, VERDICT_WARN, VERDICT_REFUSE };

/** The relevant part of the configuration; read once by verdict_policy_read. */
struct verdict_policy {
    struct ocv_config *config;
    const char *socket;              /**< variantd's */
    bool enforce, off;               /**< `policy`; warn otherwise */
    bool closed;                     /**< `fail: closed` */
    bool config_enforce, config_off; /**< `config_policy`, of ordinary images; warn otherwise */
};
/** Read the file. NULL: /etc/ocivariant/config.yaml, or the defaults (warn, open) if it does not
 *  exist. */
int verdict_policy_read(const char *file, struct verdict_policy *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void verdict_policy_free(struct verdict_policy *policy);

struct verdict_answer {
    enum ocv_verdict verdict;
    enum verdict_action action;
    enum ocv_choose choose; /**< in the image's repository; unless it is on, nothing is refused */
    char label[64];         /**< the variant's, or empty */
    char reason[1024];      /**< one line of text: image, variant, reason, and what would fit */
};
/** True if there is nothing to ask: not about variants, and not about a configuration if there is
 *  one. */
bool verdict_is_off(const struct verdict_policy *policy, bool config);
/** Ask variantd and decide. Never fails: without an answer the verdict is OCV_VERDICT_UNKNOWN with
 *  the reason, and `fail` decides. An image on the `allow` list is allowed without asking. The
 *  image's own labels alone never refuse it. An image that lacks what the configuration requires
 *  counts as a misfit. For an ordinary image whose configuration is in the question, the
 *  configuration's requirements count under `config_policy`, which the reason states. */
void verdict_ask(const struct verdict_policy *policy, const struct ocv_verdict_question *question,
                 struct verdict_answer *answer);
/** The action for a verdict; `choose` of the repository may weaken it. Also for callers whose
 *  verdict is not from verdict_ask. */
enum verdict_action verdict_decide(const struct verdict_policy *policy, enum ocv_verdict verdict,
                                   const char *reference);
/** The answer without asking variantd: OCV_VERDICT_UNKNOWN with the reason `why`. */
void verdict_set_unknown(const struct verdict_policy *policy,
                         const struct ocv_verdict_question *question, const char *why,
                         struct verdict_answer *answer);

#endif
