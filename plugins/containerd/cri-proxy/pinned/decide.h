/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses an image of a pinned index for this node: reads the index with the request's own
 * credentials, resolves it with variantd's profile, and checks that the child exists. On any
 * failure the request is passed on unchanged. */
#ifndef CRI_PROXY_DECIDE_H
#define CRI_PROXY_DECIDE_H

#include "lib/internal/config/config.h"
#include "ocivariant-registry.h"
#include "plugins/containerd/cri-proxy/state/state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define DECIDE_REASON_MAX 400u  /**< bytes of the reason for a refusal */
#define DECIDE_MS 10000u        /**< for all requests to a registry within one call */
#define DECIDE_PROFILE_MS 2000u /**< for variantd */

struct decide {
    const struct ocv_config *config; /**< `registries`, and the resolver's settings */
    bool enforce;                    /**< refuse if nothing meets the requirements */
    bool closed;                     /**< refuse if the node's profile is not known */
    const char *socket;              /**< variantd's */
    const char *profile_file;        /**< profile to use instead of variantd's, or NULL */
    const char
        *records; /**< directory of what was resolved here, for the hooks; NULL: by `config` */
    struct state *state;
    const char *own;        /**< the proxy's directory, root's alone: what it found to be signed */
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
 *  what the administrator does not want; or `closed`, and a pin that had an image of its own cannot
 *  be resolved without a profile. Open, it gets the image that it had. */
bool decide_pull(const struct decide *decide, const char *text, struct wire_auth *auth,
                 const volatile int *interrupted, char out[PINNED_TEXT_MAX], bool *known,
                 bool *silent, char refused[DECIDE_REASON_MAX]);
/** If the profile differs from the one of `last`, which is updated, choose again in every index of
 *  the state: a choice made for another driver may not fit now. */
void decide_again(const struct decide *decide, char last[OCV_DIGEST_MAX]);

/* For a workload, too. */

/** Replace the index by that of all images in it, where any of them is not in the index itself.
 *  `registry` is NULL for a kept index: OCV_ERR_NOT_FOUND, since the rest of it is not kept. */
int decide_walk(struct ocv_registry *registry, const struct ocv_reference *reference,
                struct ocv_index **index, struct ocv_error *err) OCV_WARN_UNUSED;
/** This node's profile as the configuration overrides it, and the digest of its text. */
int decide_profile(const struct decide *decide, struct ocv_profile **out,
                   char digest[OCV_DIGEST_MAX], struct ocv_error *err) OCV_WARN_UNUSED;
/** The directory of records, or NULL if its name is too long. */
const char *decide_records(const struct decide *decide, char *out, size_t size);
/** Is the document of that digest signed as `trust` asks: by this node's record, or by the
 * registry's answer? OCV_ERR_UNTRUSTED: no. */
int decide_signed(const struct decide *decide, struct ocv_registry *registry,
                  const struct ocv_reference *reference, const char *digest,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Tell variantd and the hooks, by their records, what was found so, and which builds the index
 *  (NULL: none) names. */
void decide_tell_signed(const struct decide *decide, const struct ocv_reference *reference,
                        const char *digest, const struct ocv_index *index);
/** A client with these credentials only, limited to DECIDE_MS. */
int decide_open_registry(const struct ocv_config *config, const struct wire_auth *auth,
                         const volatile int *interrupted, struct ocv_registry **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/* Slots for decisions, which wait for registries. A registry has at most half of what the others
 * leave, so that one that hangs does not stop the pulls of others; one that was silent is not asked
 * for a while. Any thread. */

#define SLOTS_MAX 8u          /**< decisions at the same time: each may read an index */
#define SLOTS_SILENT_MS 30000 /**< a registry that was silent is left alone for so long */
#define SLOTS_SILENT_MAX 64u  /**< such registries that are remembered; then the oldest goes */
#define SLOTS_HOST_MAX 256u

struct slots_host {
    char name[SLOTS_HOST_MAX];
    unsigned n;       /* decisions that wait for it */
    int64_t until_ms; /* silent until then */
};
struct slots {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned taken;
    struct slots_host busy[SLOTS_MAX], silent[SLOTS_SILENT_MAX];
};

enum slot_given { SLOT_TAKEN, SLOT_CANCELLED, SLOT_SILENT };

void slots_init(struct slots *slots);
void slots_destroy(struct slots *slots);
/** Wait for a slot, until `*gone` (read atomically). SLOT_SILENT: do not ask that registry now. */
enum slot_given slots_take(struct slots *slots, const char *host, const volatile int *gone);
/** Give a slot back. `silent`: the registry has not answered in time. */
void slots_leave(struct slots *slots, const char *host, bool silent);

#endif
