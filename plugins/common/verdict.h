/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does an image fit this node? What every hook asks variantd over its socket, and what follows from
 * the answer under the administrator's policy (docs/refusing.md). No libcurl: a hook
 * runs at every pull or container start and has a few milliseconds. */
#ifndef OCV_PLUGIN_VERDICT_H
#define OCV_PLUGIN_VERDICT_H

#include "lib/config/choose.h"
#include "lib/config/config.h"
#include "lib/records/daemon_verdict.h"
#include "ocivariant.h"

#define VERDICT_TIMEOUT_MS 2000u /**< later answers count as none */

enum verdict_action { VERDICT_ALLOW, VERDICT_WARN, VERDICT_REFUSE };

/** The part of the configuration that decides; read once by verdict_policy_read. */
struct verdict_policy {
    struct ocv_config *config;
    const char *socket;              /**< variantd's */
    bool enforce, off;               /**< `policy`; warn otherwise */
    bool closed;                     /**< `fail: closed` */
    bool config_enforce, config_off; /**< `config_policy`, of ordinary images; warn otherwise */
};
/** Read the file. NULL: /etc/ocivariant/config.yaml, and the defaults (warn, open) where there is
 *  none. */
int verdict_policy_read(const char *file, struct verdict_policy *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void verdict_policy_free(struct verdict_policy *policy);

struct verdict_answer {
    enum ocv_verdict verdict;
    enum verdict_action action;
    enum ocv_choose choose; /**< for the image; where it is not on, nothing is refused */
    char label[64];         /**< the variant's, or empty */
    char reason[1024];      /**< one line for people: image, variant, why, what would fit */
};
/** Is there nothing to ask: neither about variants nor, with a configuration at hand, about that?
 */
bool verdict_is_off(const struct verdict_policy *policy, bool config);
/** Ask variantd and decide. Never fails: without an answer the verdict is OCV_VERDICT_UNKNOWN, with
 *  the reason, and `fail` decides. An image on the `allow` list is allowed without asking; by the
 *  image's own labels alone nothing is refused; one that lacks what the configuration requires is
 *  treated as a misfit. Of an ordinary image whose configuration is in the question, what that asks
 * for counts under `config_policy`, and says so in the reason. */
void verdict_ask(const struct verdict_policy *policy, const struct ocv_verdict_question *question,
                 struct verdict_answer *answer);
/** The action for a verdict, which `choose` of its repository may weaken; for callers that have one
 * without verdict_ask, too. */
enum verdict_action verdict_decide(const struct verdict_policy *policy, enum ocv_verdict verdict,
                                   const char *reference);
/** The answer where variantd is not asked: OCV_VERDICT_UNKNOWN because of `why`. */
void verdict_set_unknown(const struct verdict_policy *policy,
                         const struct ocv_verdict_question *question, const char *why,
                         struct verdict_answer *answer);

#endif
