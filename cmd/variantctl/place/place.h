/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A place to which images are written: a repository in a registry, or an OCI layout. */
#ifndef OCV_PLACE_H
#define OCV_PLACE_H

#include "cmd/common/image/image.h"

#include <jansson.h>

struct place {
    struct cli *cli;
    struct ocv_reference *reference; /**< a registry, else NULL */
    char *dir;                       /**< of a layout, else NULL */
    struct ocv_layout *layout;       /**< NULL until it exists and is needed */
    char *tag;
    char *name; /**< "HOST/REPO" or "oci:DIR", for messages */
};

/** Parse a target, REPO:TAG or oci:DIR:TAG. Sends no request and creates nothing. */
int place_open(struct cli *cli, const char *text, struct place *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void place_close(struct place *place);
/** OCV_ERR_IO: it is a layout where this user may not write. Writes nothing. */
int place_check(const struct place *place, struct ocv_error *err) OCV_WARN_UNUSED;
/** Create the layout's directory, if it is one. */
int place_prepare(struct place *place, struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the place already has all content of the image's repository. */
bool place_holds(const struct place *place, const struct image *image);
/** The document that the tag names. OCV_ERR_NOT_FOUND if there is none. */
int place_head(struct place *place, const char *tag, struct ocv_descriptor *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** A document by tag or digest. */
int place_get(struct place *place, const char *object, struct ocv_buffer *body,
              struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write a document; `tag` NULL: by digest. */
int place_put(struct place *place, const char *tag, const struct ocv_descriptor *descriptor,
              const void *bytes, size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write it under the place's tag if that still names `before` (empty: nothing). A layout
 *  guarantees this, a registry only if it supports If-Match. `*moved`: refused, because the tag
 *  names something else. */
int place_move(struct place *place, const char *before, const struct ocv_descriptor *descriptor,
               const void *bytes, size_t len, bool *moved, struct ocv_error *err) OCV_WARN_UNUSED;

/** Append the descriptors of a digest's referrers (distribution-spec, "Listing Referrers"). `*api`:
 *  the place has the API; else the fallback tag was read. */
int list_referrers(struct place *place, const char *digest, bool *api, json_t *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Register documents just written as referrers of this subject; `added` is an array of their
 *  descriptors. Without a referrers API they are added to the list under the fallback tag. */
int note_referrers(struct place *to, const char *digest, const json_t *added,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Write a document as an artifact of that type whose subject is at the place, and register it.
 * Equal documents give equal artifacts. `digest` receives the artifact's. */
int attach_document(struct place *place, const struct ocv_descriptor *subject, const char *type,
                    const struct ocv_buffer *document, char digest[OCV_DIGEST_MAX],
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The same, where the document has a media type of its own. */
int attach_layer(struct place *place, const struct ocv_descriptor *subject, const char *type,
                 const char *layer_type, const struct ocv_buffer *document,
                 char digest[OCV_DIGEST_MAX], struct ocv_error *err) OCV_WARN_UNUSED;
/** The fallback tag, "sha256-<hex>": algorithm cut to 32 characters, the rest to 64. */
void referrers_tag(const char *digest, char out[128]);

#endif
