/* SPDX-License-Identifier: GPL-3.0-or-later */
/* References in requests, and the registries that credentials may be sent to. */
#ifndef CRI_PROXY_PINNED_H
#define CRI_PROXY_PINNED_H

#include "plugins/containerd/cri-proxy/pinned/wire.h"

#define PINNED_TEXT_MAX 1024u /**< of a reference in a request; longer ones are not valid */

/** Parse a reference with a digest of a known algorithm. NULL for anything else: a tag, an image
 *  id, an invalid reference. `text` need not end with a NUL. Free with ocv_reference_free. */
struct ocv_reference *pinned_parse(const void *text, size_t len);
/** Does it have a digest of a known algorithm? NULL does not. */
bool pinned_by_digest(const struct ocv_reference *reference);
/** The key of a pinned reference: "HOST/REPOSITORY@DIGEST", normalised. False if it is too long. */
bool pinned_key(const struct ocv_reference *reference, char out[PINNED_TEXT_MAX]);
/** The request's own text with that digest and no tag ("app:1@sha256:a", "app:1" ->
 *  "app@sha256:b"), since engines parse names by their own rules. False if it is too long. */
bool pinned_rewrite(const void *text, size_t len, const char *digest, char out[PINNED_TEXT_MAX]);

/** Make the request's credentials those that containerd would send to `host`: none if they are for
 *  another server; username and password taken from `auth`. OCV_ERR_DATA if malformed. */
int pinned_credentials(struct wire_auth *auth, const char *host,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
