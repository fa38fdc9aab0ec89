/* SPDX-License-Identifier: GPL-3.0-or-later */
/* References in requests, and the registries that credentials may be sent to. */
#ifndef CRI_PROXY_PINNED_H
#define CRI_PROXY_PINNED_H

#include "ocivariant.h"

struct wire_auth;

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

/* Log lines on stderr, one write(2) each. */

/** Call once before threads start. `verbose`: log_debug prints too. */
void log_setup(bool verbose);
void log_line(const char *format, ...) OCV_PRINTF(1, 2);
void log_debug(const char *format, ...) OCV_PRINTF(1, 2);

/* Requests of the CRI image service as bytes. A message is never decoded and encoded again: one
 * string in it is found and replaced, and every other byte stays, fields of later versions of the
 * protocol included. Field numbers are those of runtime.v1 and v1alpha2, which agree:
 *
 *   PullImageRequest   { ImageSpec image = 1; AuthConfig auth = 2; ... }
 *   ImageStatusRequest { ImageSpec image = 1; ... }
 *   RemoveImageRequest { ImageSpec image = 1; }
 *   ImageSpec          { string image = 1; ... }
 *   AuthConfig         { username = 1, password = 2, auth = 3, server_address = 4,
 *                        identity_token = 5, registry_token = 6: strings } */

#define WIRE_FIELDS_MAX 65536u /**< of one message; a request has a dozen */

/** Position of the image's name; of several, the last one, as protobuf readers take it. */
struct wire_image {
    size_t outer, outer_at, outer_len; /**< ImageSpec field: offsets of tag and bytes, length */
    size_t inner, inner_at, inner_len; /**< image field: the same, from the message's start */
};
/** Find it. False if the message is malformed or has no image name. */
bool wire_find_image(const uint8_t *message, size_t len, struct wire_image *out);
/** Append the message with another name. */
int wire_replace_image(const uint8_t *message, size_t len, const struct wire_image *image,
                       const char *text, struct ocv_buffer *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/** Credentials of a PullImage; members are NULL if absent or empty. Owned. */
struct wire_auth {
    char *username, *password, *auth, *server_address, *identity_token, *registry_token;
};
/** Read them. OCV_ERR_DATA if the message is malformed or a text contains a NUL. */
int wire_read_auth(const uint8_t *message, size_t len, struct wire_auth *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Overwrites the memory before freeing it. */
void wire_auth_free(struct wire_auth *auth);

#endif
