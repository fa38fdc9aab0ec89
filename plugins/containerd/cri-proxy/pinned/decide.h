/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses an image of a pinned index for this node: reads the index with the request's own
 * credentials, resolves it with variantd's profile, and checks that the child exists. On any
 * failure the request is passed on unchanged. */
#ifndef CRI_PROXY_DECIDE_H
#define CRI_PROXY_DECIDE_H

#include "lib/internal/config/choose.h"
#include "lib/internal/config/config.h"
#include "plugins/containerd/cri-proxy/pinned/map.h"

#define DECIDE_REASON_MAX 400u  /**< bytes of the reason for a refusal */
#define DECIDE_MS 10000u        /**< for all requests to a registry within one call */
#define DECIDE_PROFILE_MS 2000u /**< for variantd */

struct decide {
    const struct ocv_config *config; /**< `registries`, and the resolver's settings */
    bool enforce;                    /**< refuse if nothing meets the requirements */
    const char *socket;              /**< variantd's */
    const char *profile_file;        /**< profile to use instead of variantd's, or NULL */
    const char
        *records; /**< directory of what was resolved here, for the hooks; NULL: by `config` */
    struct map *map;
    enum ocv_choose choose; /**< for the image; `shadow`: log what would be pulled, store nothing */
};

/** A pull of `text` (a pinned reference, NUL at its end) with these credentials, which are changed.
 *  True, with the name to pull instead, when there is one. Blocks; `*interrupted` ends it.
 *
 *  An index that was read before, by us and of this repository, is not read again: its digest is
 * its content, and it is resolved again with the current profile. Is that the child of before,
 * which was seen in the registry, no registry is asked at all (`*known`): the engine shows this
 * request's credentials for the child, so that a client that may not read it does not get it.
 *
 *  `*silent`: there is none, since the registry sent nothing in time.
 *
 *  Under `shadow` the log says what would be pulled, or refused, and the pull goes on as it came.
 *
 *  `refused`: why the pull must not go on, or empty: the configuration requires something of that
 *  repository that no image of the index gives this node, and what the engine would take instead is
 *  what the administrator does not want. */
bool decide_pull(const struct decide *decide, const char *text, struct wire_auth *auth,
                 const volatile int *interrupted, char out[PINNED_TEXT_MAX], bool *known,
                 bool *silent, char refused[DECIDE_REASON_MAX]);
/** The engine failed to pull a choice made without a registry: ask one at the next pull. */
void decide_doubt(const struct decide *decide, const char *text);
/** If the profile differs from the one of `last`, which is updated, choose again in every index of
 *  the map: a choice made for another driver may not fit now. */
void decide_again(const struct decide *decide, char last[OCV_DIGEST_MAX]);

#endif
