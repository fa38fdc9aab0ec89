/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolving mirror: what is answered to a request of the distribution API, for this node. */
#ifndef VARIANTD_MIRROR_H
#define VARIANTD_MIRROR_H

#include "cmd/variantd/common/log.h"
#include "cmd/variantd/node/node.h"
#include "lib/records/records.h"

#include <microhttpd.h>

#define MIRROR_ANSWER_MS \
    3000 /**< a tag is answered by then: containerd has no timeout of its own */

/** Questions by name that ask registries at once, of peers that are trusted, and as many of others.
 *  One registry has at most half of what the rest leave. */
#define MIRROR_ASKS_MAX 64u

struct mirror;
struct ocv_tag_rules;
/** `settings`, `node` and `metrics` are borrowed and outlive the mirror. */
int mirror_new(const struct settings *settings, struct node *node, struct metrics *metrics,
               struct mirror **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Wake every request that waits, answered 504, and let none wait any more: libmicrohttpd may not
 * be stopped while a connection is suspended. Any thread. */
void mirror_stop(struct mirror *mirror);
/** No request may be running. */
void mirror_free(struct mirror *mirror);
/** libmicrohttpd's access handler and completion handler; `cls` is the mirror. Never block. */
enum MHD_Result mirror_handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request);
void mirror_completed(void *cls, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why);
/** Before a stop: answer no new request, let running ones end. True when none is left. */
bool mirror_idle(const struct mirror *mirror);

/** What a reference means on this node, for /v1/resolve: the decision's JSON. Blocks;
 *  call it from a thread of its own. `trusted`: the peer may learn what the daemon's credentials
 *  can read. */
int mirror_resolve(struct mirror *mirror, const char *reference, bool trusted,
                   struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;
/** Whether the registries answer, and what can be served of them, for /v1/registries. Blocks for a
 *  few seconds at most. `trusted` as above. */
int mirror_registries(struct mirror *mirror, bool trusted, struct ocv_buffer *json,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The tag rules, NULL unless the administrator turned them on. */
const struct ocv_tag_rules *mirror_tag_rules(const struct mirror *mirror);
/** What a digest is in the index at a reference, or in another one. */
struct mirror_entry {
    bool variants; /**< the index carries variants */
    bool is_index; /**< the digest is that of the document at the reference itself */
    bool alone;    /**< no index is there, but an image */
    bool found;    /**< the digest is one of its entries: `said` says which */
    struct ocv_record said;
    char fit[64]; /**< label of what this node would get, "null" for the default; empty: nothing, or
                     no index with variants */
    /* digests of what this node would get, and of what an engine takes by itself; or empty */
    char fit_digest[OCV_DIGEST_MAX], default_digest[OCV_DIGEST_MAX];
};
void mirror_entry_free(struct mirror_entry *entry);
int mirror_find(struct mirror *mirror, const char *reference, const char *digest, bool trusted,
                struct mirror_entry *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for an index already in memory, whose digest is `own`. */
int mirror_describe(struct mirror *mirror, const char *reference, const struct ocv_index *index,
                    const char *own, const char *digest, struct mirror_entry *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** What a single image says of itself in its config's labels; `found` is false where it says
 * nothing, or is an index. A FROM line inherits labels, so they are a hint only. */
int mirror_labels(struct mirror *mirror, const char *reference, bool trusted,
                  struct mirror_entry *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
