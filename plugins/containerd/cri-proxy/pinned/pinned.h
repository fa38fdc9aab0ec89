/* SPDX-License-Identifier: GPL-3.0-or-later */
/* References as requests write them, and the registries that credentials may be sent to. */
#ifndef CRI_PROXY_PINNED_H
#define CRI_PROXY_PINNED_H

#include "plugins/containerd/cri-proxy/pinned/wire.h"

#define PINNED_TEXT_MAX 1024u /**< of a reference in a request; longer ones are not valid */

/** Parse a reference that names a digest known here. NULL for anything else: a tag, an image's id,
 *  what is not a reference. `text` needs no NUL at its end. Freed with ocv_reference_free. */
struct ocv_reference *pinned_parse(const void *text, size_t len);
/** The key of what is pinned: "HOST/REPOSITORY@DIGEST", normalised. False when it does not fit. */
bool pinned_key(const struct ocv_reference *reference, char out[PINNED_TEXT_MAX]);
/** The request's own text with that digest and no tag ("app:1@sha256:a", "app:1" ->
 * "app@sha256:b"): an engine reads the name by its own rules. False when it does not fit. */
bool pinned_rewrite(const void *text, size_t len, const char *digest, char out[PINNED_TEXT_MAX]);

/** Make the request's credentials those that containerd would send to `host`: none where they are
 * meant for another server, a username and password out of `auth`. Malformed: OCV_ERR_DATA. */
int pinned_credentials(struct wire_auth *auth, const char *host,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
