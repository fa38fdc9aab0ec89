/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolving mirror: answers requests of the distribution API for this node. */
#ifndef VARIANTD_MIRROR_H
#define VARIANTD_MIRROR_H

#include "cmd/variantd/common/log.h"
#include "cmd/variantd/node/node.h"
#include "lib/internal/fit/fit.h"

#include <microhttpd.h>

#define MIRROR_ANSWER_MS                                                    \
    3000 /**< tags are answered within this time: containerd has no timeout \
          */

/** Questions by name that may ask registries at the same time, for trusted peers, and as many for
 *  others. One registry gets at most half of what the others leave. */
#define MIRROR_ASKS_MAX 64u

struct mirror;
struct ocv_tag_rules;
/** `settings`, `node` and `metrics` are borrowed and outlive the mirror. */
int mirror_new(const struct settings *settings, struct node *node, struct metrics *metrics,
               struct mirror **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Resume all suspended requests, with 504 unless their result is known, and suspend no more:
 * libmicrohttpd must not be stopped while a connection is suspended. Any thread. */
void mirror_stop(struct mirror *mirror);
/** Call without running requests. */
void mirror_free(struct mirror *mirror);
/** libmicrohttpd's access handler and completion handler; `cls` is the mirror. Never block. */
enum MHD_Result mirror_handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request);
void mirror_completed(void *cls, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why);
/** Before a stop: answer no new request, let running ones finish. True when none is left. */
bool mirror_idle(const struct mirror *mirror);

/** The decision about a reference on this node as JSON, for /v1/resolve. Blocks; call it from a
 *  thread of its own. `trusted`: the peer may learn what the daemon's credentials can read. */
int mirror_resolve(struct mirror *mirror, const char *reference, bool trusted,
                   struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;
/** For /v1/registries: whether the registries answer, and what can be served from them. Blocks for
 *  a few seconds at most. `trusted` as above. */
int mirror_registries(struct mirror *mirror, bool trusted, struct ocv_buffer *json,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The tag rules, NULL unless the administrator turned them on. */
const struct ocv_tag_rules *mirror_tag_rules(const struct mirror *mirror);
/** What the index at a reference says of a digest, for this node. */
int mirror_find(struct mirror *mirror, const char *reference, const char *digest, bool trusted,
                struct ocv_fit_place *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same of an index in memory with digest `own`. */
int mirror_describe(struct mirror *mirror, const char *reference, const struct ocv_index *index,
                    const char *own, const char *digest, struct ocv_fit_place *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** May an image of that digest (NULL: what its name stands for) be used here, by `trust`? Also true
 *  where no rule requires a signature. OCV_ERR_UNTRUSTED: no; any other error: it could not be
 * asked. `trusted`: as in mirror_find. Blocks. */
int mirror_trusted(struct mirror *mirror, const struct ocv_reference *reference, const char *digest,
                   bool trusted, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read the config labels of a single image. `found` is false if it has none, or is an index. They
 *  are only a hint, since a FROM line inherits labels. */
int mirror_labels(struct mirror *mirror, const char *reference, bool trusted,
                  struct ocv_fit_place *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
