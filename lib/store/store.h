/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The store's inside: files relative to a folder descriptor, the layout, ustar.
 *
 * Invariants: a name under the layout is either fixed here or made of a digest that passed
 * ocv_digest_known, never text from outside; whatever has its final name was fsynced before it got
 * it (but for blobs of a layout that is passing); everything unfinished lives in DIR/.ocivariant/.
 */
#ifndef OCV_STORE_H
#define OCV_STORE_H

#include "json.h"
#include "ocivariant.h"

#include <unistd.h>

#define OCV_STORE_PRIVATE ".ocivariant" /**< partials, temporary files, the lock */
#define OCV_STORE_NAME_MAX (OCV_DIGEST_MAX + 32)
#define OCV_RECORD_MAX (64u * 1024)  /**< bytes of one record */
#define OCV_RECORD_SUFFIX_MAX 24u    /**< "-0123456789abcdef.json" */
#define OCV_RECORD_INDEXES "indexes" /**< folder of the kept indexes, in that of the records */

struct ocv_layout {
    int fd;
    bool writable;
    bool passing;  /* blobs are read again at once, and need not survive a power cut */
    bool distrust; /* blobs that are there are read, whatever is remembered of them */
    char path[];
};

/* ---- file.c ---- */

static inline void ocv_store_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
/** `ocv_auto_fd int fd = -1;` closes on leaving the scope. */
#define ocv_auto_fd __attribute__((cleanup(ocv_store_close)))

/** OCV_ERR_IO "DIR/NAME: cannot WHAT: <errno>". `name` may be NULL. */
int ocv_store_fail(struct ocv_error *err, const char *dir, const char *name, const char *what);
/** Read up to the end or out->max. `dir` is for messages. A missing file is OCV_ERR_NOT_FOUND. */
int ocv_store_read_file(int dirfd, const char *dir, const char *name, struct ocv_buffer *out,
                        struct ocv_error *err);
/** Open a regular file for reading; never follows a link in the last component, never blocks. */
int ocv_store_open_file(int dirfd, const char *dir, const char *name, int *fd, int64_t *size,
                        struct ocv_error *err);
/** Make a folder and the missing ones above it. `mode` 0 leaves theirs to the umask. */
int ocv_store_make_path(const char *path, mode_t mode, struct ocv_error *err);
/** Open DIRFD/NAME as a folder without following a link; `make` creates it (fsyncing DIRFD). */
int ocv_store_open_dir(int dirfd, const char *dir, const char *name, bool make, int *fd,
                       struct ocv_error *err);
/** Write bytes under a unique name in `tmpfd`, fsync, rename to DIRFD/NAME, fsync the folder.
 *  `mode` 0 leaves the file's to the umask. */
int ocv_store_replace_file(int tmpfd, int dirfd, const char *dir, const char *name,
                           const void *data, size_t len, mode_t mode, struct ocv_error *err);
/** Remove what killed writers of ocv_store_replace_file left there more than an hour ago. */
void ocv_store_sweep(int tmpfd);
/** Remove files "sha..." of the folder: those not touched for `age` seconds (0: whatever their
 * age), and while there are more than `max`, the oldest. */
void ocv_store_keep_newest(int dirfd, size_t max, int64_t age);

/* ---- record_folder.c ---- */

/** Open the directory of records, or `name` in it, to write there, making what is missing; and
 * where that is another user's and this is root, act as its owner, until ocv_record_as_before. */
int ocv_record_open(const char *dir, const char *name, int *out, bool *other,
                    struct ocv_error *err);
/** Give this thread the rights over files of the owner of the directory `fd`; `dir` is for
 * messages.
 *  `*other`, false before: whether that changed anything. */
int ocv_record_as_owner(int fd, const char *dir, bool *other, struct ocv_error *err);
void ocv_record_as_before(bool *other);
/** `ocv_as_owner bool other = false;` ends it on leaving the scope. */
#define ocv_as_owner __attribute__((cleanup(ocv_record_as_before)))

/* ---- record.c ---- */

/** How the files of records and kept indexes are called: "ALGORITHM-HEX", then a repository's
 *  "-HASH.json". A hash of 64 bits finds the file, what stands in it says whose it is. */
int ocv_record_prefix(const char *digest, char out[OCV_DIGEST_MAX], struct ocv_error *err);
int ocv_record_suffix(const char *repository, char out[OCV_RECORD_SUFFIX_MAX],
                      struct ocv_error *err);
int ocv_record_name(const char *digest, const char *repository, char out[OCV_STORE_NAME_MAX],
                    struct ocv_error *err);
/** Does the name begin and end so? */
bool ocv_record_is_named(const char *name, const char *prefix, const char *suffix);
/** A record's text, of at most OCV_RECORD_MAX bytes; `out` borrows from `*tree`. */
int ocv_record_parse(const void *bytes, size_t len, struct ocv_record *out, json_t **tree,
                     struct ocv_error *err);

/* ---- record_index.c ---- */

/** A kept index's text, of at most OCV_RECORD_INDEX_MAX bytes. */
int ocv_record_index_parse(const void *bytes, size_t len, struct ocv_record_index *out,
                           struct ocv_error *err);
/** The text of an index that is to be kept. */
int ocv_record_index_format(const struct ocv_index *index, const struct ocv_record *record,
                            struct ocv_buffer *out, struct ocv_error *err);
/** Keep it. `record`: its index, repository, and whether it is secret. */
int ocv_record_index_write(const char *dir, const struct ocv_record *record,
                           const struct ocv_buffer *text, struct ocv_error *err);

/* ---- blob.c ---- */

/** Split a digest that is known here into "sha256" and its hex. OCV_ERR_DATA for any other. */
int ocv_store_split_digest(const char *digest, char algorithm[8], const char **hex,
                           struct ocv_error *err);
/** Open blobs/ALGORITHM for writing into it. */
int ocv_store_open_blobs(const struct ocv_layout *layout, const char *algorithm, int *fd,
                         struct ocv_error *err);
/** OCV_ERR_INVALID if the layout was opened for reading. */
int ocv_store_check_writable(const struct ocv_layout *layout, struct ocv_error *err);

/* ---- verified.c ---- */

/** Is the blob there with its size and, as was seen once of that very file, its content? One that
 *  is not what its name says is not there: a writer puts the right one in its place. */
int ocv_store_find_blob(const struct ocv_layout *layout, const char *digest, int64_t size,
                        bool *present, struct ocv_error *err);
/** The blob that is open there has been checked. */
void ocv_store_remember_blob(const struct ocv_layout *layout, const char *digest, int blob);

/* ---- index_json.c: index.json as a document, without I/O ---- */

int ocv_store_index_load(const void *bytes, size_t len, json_t **out, struct ocv_error *err);
int ocv_store_index_find(const json_t *root, const char *tag, struct ocv_descriptor *out,
                         struct ocv_error *err);
int ocv_store_index_walk(const json_t *root, ocv_layout_visit visit, void *data);
int ocv_store_index_tag(json_t *root, const char *tag, const char *image_name,
                        const struct ocv_descriptor *descriptor,
                        const struct ocv_platform *platform, struct ocv_error *err);

/* ---- tar.c ---- */

#define OCV_TAR_BLOCK 512u
enum ocv_tar_type { OCV_TAR_FILE = '0', OCV_TAR_LINK = '2', OCV_TAR_DIR = '5' };
/** One ustar header with owner 0:0 and time 0; sizes from 8 GiB are written base-256, as GNU tar
 * and Go do. `name` at most 100 bytes, or 255 with a `/` in the right place; `link` may be NULL. */
int ocv_tar_header(unsigned char out[OCV_TAR_BLOCK], const char *name, const char *link,
                   unsigned mode, int64_t size, enum ocv_tar_type type, struct ocv_error *err);
/** Bytes of zeros that follow `size` bytes of content. */
size_t ocv_tar_padding(int64_t size);

#endif
