/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which image of a pinned index fits this node: the index is read with what the request itself
 * brought, resolved with variantd's profile, and the child is checked before anything relies on
 * it. Whatever fails means that the request goes on as it came. */
#ifndef CRI_PROXY_DECIDE_H
#define CRI_PROXY_DECIDE_H

#include "lib/config/choose.h"
#include "lib/config/config.h"
#include "plugins/containerd/cri-proxy/pinned/map.h"

#define DECIDE_REASON_MAX 400u  /**< bytes of why a pull is refused */
#define DECIDE_MS 10000u        /**< for all that a registry is asked for one request */
#define DECIDE_PROFILE_MS 2000u /**< for variantd */

struct decide {
    const struct ocv_config *config; /**< `registries`, and what the resolver reads of it */
    bool enforce;                    /**< refuse where nothing meets what is required */
    const char *socket;              /**< variantd's */
    const char *profile_file;        /**< this profile instead of variantd's, or NULL */
    const char
        *records; /**< directory of what was resolved here, for the hooks; NULL: by `config` */
    struct map *map;
    enum ocv_choose choose; /**< for the image; `shadow`: say what would be pulled, keep nothing */
};

/** A pull of `text` (a pinned reference, NUL at its end) with these credentials, which are changed.
 *  True, with the name to pull instead, when there is one. Blocks; `*interrupted` ends it.
 *
 *  An index that was read before, by us and of this repository, is not read again: its digest is
 * its content, and it is resolved again with the current profile. Is that the child of before,
 * which was seen in the registry, no registry is asked at all (`*known`): the engine shows this
 * request's credentials for the child, so that a client that may not read it does not get it.
 *
 *  Under `shadow` the log says what would be pulled, or refused, and the pull goes on as it came.
 *
 *  `refused`: why the pull must not go on, or empty: the configuration requires something of that
 *  repository that no image of the index gives this node, and what the engine would take instead is
 *  what the administrator does not want. */
bool decide_pull(const struct decide *decide, const char *text, struct wire_auth *auth,
                 const volatile int *interrupted, char out[PINNED_TEXT_MAX], bool *known,
                 char refused[DECIDE_REASON_MAX]);
/** The engine could not pull what was decided without a registry: the next pull asks one. */
void decide_doubt(const struct decide *decide, const char *text);
/** Choose again in every index of the map if the profile is not the one of `last`, which is
 *  updated: what was made for a driver of yesterday is not what fits now. */
void decide_again(const struct decide *decide, char last[OCV_DIGEST_MAX]);

#endif
