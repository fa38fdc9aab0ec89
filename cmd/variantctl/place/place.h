/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where images are written to: a repository of a registry, or an OCI layout. */
#ifndef OCV_PLACE_H
#define OCV_PLACE_H

#include "cmd/common/image/image.h"

#include <jansson.h>

struct place {
    struct cli *cli;
    struct ocv_reference *reference; /**< a registry, else NULL */
    char *dir;                       /**< of a layout, else NULL */
    struct ocv_layout *layout;       /**< NULL while it is not there, or not needed yet */
    char *tag;
    char *name; /**< "HOST/REPO" or "oci:DIR", for messages */
};

/** Read a target's name, REPO:TAG or oci:DIR:TAG. Contacts and makes nothing. */
int place_open(struct cli *cli, const char *text, struct place *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
void place_close(struct place *place);
/** Make what is written into: the directory of a layout. */
int place_prepare(struct place *place, struct ocv_error *err) OCV_WARN_UNUSED;
/** True if everything of the image's repository is in this place already. */
bool place_holds(const struct place *place, const struct image *image);
/** What the tag names now. OCV_ERR_NOT_FOUND where it names nothing. */
int place_head(struct place *place, const char *tag, struct ocv_descriptor *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** A document by tag or digest. */
int place_get(struct place *place, const char *object, struct ocv_buffer *body,
              struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write a document, by its digest where `tag` is NULL. */
int place_put(struct place *place, const char *tag, const struct ocv_descriptor *descriptor,
              const void *bytes, size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write it under the place's tag, which has to name `before` (empty: nothing): a layout makes sure
 *  of it, a registry where it heeds If-Match. `*moved`: it refused, since the tag names another. */
int place_move(struct place *place, const char *before, const struct ocv_descriptor *descriptor,
               const void *bytes, size_t len, bool *moved, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- referrers.c ----------------------------------------------------------------------- */

/** Append the descriptors of what names a digest as its subject (distribution-spec, "Listing
 *  Referrers"). `*api`: the place has the API; else the fallback tag was read. */
int list_referrers(struct place *place, const char *digest, bool *api, json_t *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Documents with this subject were written; `added` is an array of their descriptors. Where the
 * place has no referrers API they are added to the list under the fallback tag. */
int note_referrers(struct place *to, const char *digest, const json_t *added,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The fallback tag, "sha256-<hex>": the algorithm cut to 32, the rest to 64 characters. */
void referrers_tag(const char *digest, char out[128]);

#endif
