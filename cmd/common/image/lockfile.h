/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variants.lock: which manifest of each image each of several machines gets, fixed by digest
 * (schema/lock.schema.json). `variantctl lock` writes it, `vpull --locked` reads it. */
#ifndef OCV_LOCKFILE_H
#define OCV_LOCKFILE_H

#include "cmd/common/cli.h"
#include "lib/internal/tags/tags.h"

#define LOCK_SCHEMA "dev.ocivariant.lock/v1"
#define LOCK_SOURCE_THIS "this machine"
#define LOCK_MAX (16u * 1024 * 1024) /**< bytes of a lock */
#define LOCK_IMAGES_MAX 10000u
#define LOCK_PROFILES_MAX 1000u              /**< of an image */
#define LOCK_TAGS_MAX OCV_TAG_CANDIDATES_MAX /**< of an image whose variants are tags */

struct lock_choice {
    const char *profile; /**< its name in the lock */
    const char *digest;  /**< of the manifest */
    const char *label;   /**< NULL for a non-variant */
    /** where its profile came from: LOCK_SOURCE_THIS, or the name of a shipped profile; NULL: a
     * file of the user's */
    const char *source;
    /** What was signed (the index, or what a tag stood for), by which key and with which signature;
     *  NULL: nobody asked. */
    const char *subject, *key, *signature;
};
/** A tag of a set made by tag rules, and the digest it had. */
struct lock_tag {
    const char *tag;
    struct ocv_descriptor
        descriptor; /**< not in the lock if size is negative and the media type is empty */
};
struct lock_image {
    const char *reference; /**< as lock_name makes it, or "oci:DIR:TAG" */
    const char *top;       /**< digest of the index (or manifest) at the reference; for a set of
                            * tags, of the index made of them, which is stored nowhere */
    struct lock_choice *choices;
    size_t n_choices;
    struct lock_tag *tags; /**< NULL: the variants are entries of an index */
    size_t n_tags;
};
struct lock {
    struct lock_image *images;
    size_t n_images;
    void *root; /* the JSON that owns the texts */
};

/** Read and check a lock. OCV_ERR_DATA if it is malformed; the error names the file and the
 *  image. */
int lock_read(const char *path, struct lock *out, struct ocv_error *err) OCV_WARN_UNUSED;
void lock_free(struct lock *lock);
/** An image's name in a lock: "docker.io/team/app:1", or "docker.io/team/app@sha256:..." if it was
 *  given by digest. */
void lock_name(const struct ocv_reference *reference, char *out, size_t size);
/** The image of that reference ("app" is "docker.io/library/app:latest"), or NULL. */
const struct lock_image *lock_find(const struct lock *lock, const char *reference);
/** The choice of that profile name, or NULL. */
const struct lock_choice *lock_choice(const struct lock_image *image, const char *profile);
/** True if the manifest is one of those that the lock allows. */
bool lock_holds(const struct lock_image *image, const char *digest);

#endif
