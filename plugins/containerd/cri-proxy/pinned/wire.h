/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#ifndef CRI_PROXY_WIRE_H
#define CRI_PROXY_WIRE_H

#include "ocivariant.h"

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
