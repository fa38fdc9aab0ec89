/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does an image fit this node? What every hook asks variantd over its socket, and what follows from
 * the answer under the administrator's policy (docs/refusing.md). No libcurl: a hook
 * runs at every pull or container start and has a few milliseconds. */
#ifndef OCV_PLUGIN_VERDICT_H
#define OCV_PLUGIN_VERDICT_H

#include "lib/config/config.h"
#include "ocivariant.h"

#define VERDICT_TIMEOUT_MS 2000u /**< later answers count as none */

enum verdict {
    VERDICT_FITS,
    VERDICT_MISFIT,
    VERDICT_NONE,    /**< the image has no variants */
    VERDICT_INDEX,   /**< an unresolved variant index */
    VERDICT_UNKNOWN, /**< there is no answer: `fail` decides */
    VERDICT_LESSER,  /**< it runs, but another one of its index fits better */
};
enum verdict_action { VERDICT_ALLOW, VERDICT_WARN, VERDICT_REFUSE };

/** The part of the configuration that decides; read once by verdict_policy_read. */
struct verdict_policy {
    struct ocv_config *config;
    const char *socket; /**< variantd's */
    bool enforce, off;  /**< `policy`; warn otherwise */
    bool closed;        /**< `fail: closed` */
};
/** Read the file. NULL: /etc/ocivariant/config.yaml, and the defaults (warn, open) where there is
 *  none. */
int verdict_policy_read(const char *file, struct verdict_policy *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void verdict_policy_free(struct verdict_policy *policy);

/** What is known about the image; unknown fields are NULL. Borrowed. */
struct verdict_question {
    const char *reference;  /**< "docker.io/team/app:1" */
    const char *digest;     /**< of what was resolved: manifest or index */
    const char *label;      /**< the variant's label, of an annotation */
    const char *properties; /**< likewise, canonical */
};
struct verdict_answer {
    enum verdict verdict;
    enum verdict_action action;
    bool labels_only;  /**< by the image's own labels alone: never VERDICT_REFUSE */
    char label[64];    /**< the variant's, or empty */
    char fit[64];      /**< the label that would fit this node, or empty */
    bool required;     /**< a lesser one lacks what the configuration requires: as a misfit */
    char reason[1024]; /**< one line for people: image, variant, why, what would fit */
};
/** Ask variantd and decide. Never fails: without an answer the verdict is VERDICT_UNKNOWN, with the
 *  reason. An image on the `allow` list is allowed without asking. */
void verdict_ask(const struct verdict_policy *policy, const struct verdict_question *question,
                 struct verdict_answer *answer);
/** The action for a verdict; for callers that have one without verdict_ask, too. */
enum verdict_action verdict_decide(const struct verdict_policy *policy, enum verdict verdict,
                                   const char *reference);
/** The answer where variantd is not asked: VERDICT_UNKNOWN because of `why`. */
void verdict_cannot_tell(const struct verdict_policy *policy,
                         const struct verdict_question *question, const char *why,
                         struct verdict_answer *answer);
const char *verdict_name(enum verdict verdict);

#endif
