/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file records.h
 * What this node has chosen. Does I/O.
 */
#ifndef OCV_RECORDS_H
#define OCV_RECORDS_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/resolve.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The directory of records below `state_dir` of the configuration (NULL or empty: the default
 * one), written to `out`, which is returned. */
const char *ocv_record_directory(const char *state_dir, char *out, size_t size);

/** What was resolved on this node: one JSON file for each child in each repository under `dir`
 *  (default directory /var/lib/ocivariant/resolved), replaced by rename. A record counts only for
 * the repository in which it was made, since another one has another publisher. A writer makes the
 * directory where it is missing; a directory that is a link is refused. */
struct ocv_record {
    const char *repository; /**< HOST/REPOSITORY, as ocv_reference's `name` */
    const char *child;      /**< digest of the chosen manifest */
    const char *index;      /**< digest of the index */
    const char *label;      /**< NULL for a non-variant */
    const char *properties; /**< canonical */
    const char *statics;    /**< namespaces that are the index's own, joined by ", ", or NULL */
    const char *reference;  /**< as asked for */
    const char *tag;        /**< of which a tag rule made the entry, or NULL */
    bool secret;            /**< learnt with credentials: not for every user of the node */
    void *own;              /**< NULL: the texts are borrowed */
};
/** The same with texts of its own. Freed with ocv_record_free. */
int ocv_record_copy(const struct ocv_record *from, struct ocv_record *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Free the texts that are its own, and leave zeros. */
void ocv_record_free(struct ocv_record *record);
/** `ocv_auto_record said = {0};` is freed on leaving the scope. */
#define ocv_auto_record __attribute__((cleanup(ocv_record_free))) struct ocv_record
/** What an index says of its entry: child, index, label, properties, statics and tag, as a record
 * of it keeps them and ocv_fit_check reads them. Freed with ocv_record_free. */
int ocv_entry_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                       struct ocv_record *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** At most OCV_RECORDS_MAX are kept, the oldest go. */
int ocv_record_write(const char *dir, const struct ocv_record *record,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Called for a record that was read; its texts are borrowed for the call. A result other than 0
 *  ends the walk and is returned. */
typedef int (*ocv_record_visit)(void *data, const struct ocv_record *record);
/** Visit the record of a child in a repository; `repository` NULL: those of the child in every
 *  repository; `child` NULL, too: all. A damaged record is skipped, and where nothing was recorded
 *  nothing is visited. A malformed child digest: OCV_ERR_DATA. */
int ocv_record_walk(const char *dir, const char *repository, const char *child,
                    ocv_record_visit visit, void *data, struct ocv_error *err) OCV_WARN_UNUSED;
/** The record of a child in a repository, freed with ocv_record_free: OCV_ERR_NOT_FOUND if there is
 *  none. */
int ocv_record_read(const char *dir, const char *repository, const char *child,
                    struct ocv_record *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove records of earlier versions, which have no repository, and return their number. */
size_t ocv_record_discard_old(const char *dir);

/** Limits on what the node remembers. */
#define OCV_RECORDS_MAX 4096u                /**< images that were chosen */
#define OCV_RECORD_INDEXES_MAX 256u          /**< indexes that are kept whole */
#define OCV_RECORD_INDEX_MAX (1024u * 1024u) /**< bytes of one; a larger one is not kept */
#define OCV_RECORD_INDEX_DAYS 90u            /**< since it was resolved last */

/** An index that was resolved here, and what was chosen in it, as text that only has to be written:
 *  nothing is recorded about an image before it was seen. */
struct ocv_record_note;
/** `entry`: what was chosen, or NULL where nothing fits; only an entry with a label is recorded.
 *  `where`: repository, reference, secret, and index where it is not ocv_index_digest; all of it is
 *  copied. The whole index is kept, too, for what was not chosen of it (DIR/indexes), unless it
 *  carries no variants. Secret: only the directory's owner and group may read it; an index that was
 *  kept openly stays so. */
int ocv_record_note_new(const struct ocv_index *index, const struct ocv_entry *entry,
                        const struct ocv_record *where, struct ocv_record_note **out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_record_note_free(struct ocv_record_note *note);
OCV_DEFINE_CLEANUP(ocv_record_note)
/** Bytes that it takes. */
size_t ocv_record_note_size(const struct ocv_record_note *note);
/** Write it down under `dir`. An index that is too large is not kept: OCV_ERR_DATA, and the choice
 *  is recorded all the same. */
int ocv_record_note_write(const struct ocv_record_note *note, const char *dir,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** All of it at once, for a caller that has seen the image. */
int ocv_record_chosen(const char *dir, const struct ocv_index *index, const struct ocv_entry *entry,
                      const struct ocv_record *where, struct ocv_error *err) OCV_WARN_UNUSED;

/** An index as it was kept. */
struct ocv_record_index {
    struct ocv_index *index;     /**< its own digest is that of the kept text: use `digest` */
    char digest[OCV_DIGEST_MAX]; /**< of the index */
    char repository[512];        /**< in which it was resolved */
    char reference[1024];        /**< where it was resolved, or empty */
    bool secret;                 /**< learnt with credentials: not for every user of the node */
};
/** Called for an index that was read, which is freed afterwards unless it is taken over, and zeros
 *  are left. A result other than 0 ends the walk and is returned. */
typedef int (*ocv_record_index_visit)(void *data, struct ocv_record_index *kept);
/** Visit the indexes that have the digest as an entry: of the repository, or of each repository
 *  where it is NULL, that which was resolved last. An index of this digest itself is visited
 *  wherever it was resolved: its digest is its content. OCV_ERR_IO where they may not be read. */
int ocv_record_index_walk(const char *dir, const char *repository, const char *digest,
                          ocv_record_index_visit visit, void *data,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** The first of them: OCV_ERR_NOT_FOUND if there is none. Freed with ocv_record_index_free. */
int ocv_record_find(const char *dir, const char *repository, const char *digest,
                    struct ocv_record_index *out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_record_index_free(struct ocv_record_index *record);

/** A document that was found to be signed by a key that the configuration trusts. Texts are
 *  borrowed. */
struct ocv_trusted {
    const char *repository, *digest;
    const char *key;       /**< digest of the key */
    const char *signature; /**< digest of the bundle or payload */
    bool named;            /**< the signature was found to name the repository */
    json_t *members;       /**< digests of the documents that it names, an array; or NULL */
};
#define OCV_TRUSTED_MAX 1024u /**< of them are kept, the oldest go */
/** Write it down under DIR/trusted. */
int ocv_trusted_write(const char *dir, const struct ocv_trusted *trusted,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The text of one; `out` borrows from `*tree`. */
int ocv_trusted_parse(const void *bytes, size_t len, struct ocv_trusted *out, json_t **tree,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The key and the signature of a document's record, and whether it was named; false: there is no
 *  record. */
bool ocv_trusted_find(const char *dir, const char *repository, const char *digest,
                      char key[OCV_DIGEST_MAX], char signature[OCV_DIGEST_MAX], bool *named);
/** A number that is another one when something was written there; 0: nothing was. */
int64_t ocv_trusted_time(const char *dir);
/** Called for each; a result other than 0 ends the walk and is returned. */
typedef int (*ocv_trusted_visit)(void *data, const struct ocv_trusted *trusted);
/** Visit all of them; damaged ones are skipped. */
int ocv_trusted_walk(const char *dir, ocv_trusted_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/* The accelerators that a container was given, as its runtime specification (config.json) has them.
 * Reads sysfs. */

#define OCV_CONTAINER_DEVICES_MAX 8192u /**< bytes of the list */

/** "ID,ID,...", each a CDI name ("nvidia.com/gpu=0") or a PCI address, for `given` of a verdict's
 *  question: what CDI was asked for (annotations cdi.k8s.io/...) and the PCI devices behind
 *  linux.devices and mounts of devices; if there are none, those that a variable
 *  ..._VISIBLE_DEVICES names one by one ("nvidia/visible=GPU-1"). `all`: the word "all" of such a
 *  variable counts, too, because something of the container acts on it; alone it is inherited by
 *  images. `root`: where sys and proc are, "" for this machine. NULL: it has none, or more than
 *  fit. To be freed. */
char *ocv_container_devices(const json_t *spec, bool all, const char *root);

#endif
