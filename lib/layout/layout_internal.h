/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The inside of layouts: blobs, index.json, ustar.
 *
 * Invariants: a name under the layout is either fixed here or made of a digest that passed
 * ocv_digest_known, never text from outside; whatever has its final name was fsynced before it got
 * it (but for blobs of a layout that is nosync); everything unfinished lives in DIR/.ocivariant/.
 */
#ifndef OCV_LAYOUT_INTERNAL_H
#define OCV_LAYOUT_INTERNAL_H

#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/digest.h"
#include "ocivariant/layout.h"
#include "ocivariant/platform.h"

#include <unistd.h>

#define OCV_LAYOUT_PRIVATE ".ocivariant" /**< partials, temporary files, the lock */
#define OCV_LAYOUT_NAME_MAX (OCV_DIGEST_MAX + 32)

struct ocv_layout {
    int fd;
    bool writable;
    bool nosync;   /* blobs are read again at once, and need not survive a power cut */
    bool distrust; /* existing blobs are always read, also if they were verified before */
    char path[];
};

/** Open blobs/ALGORITHM for writing into it. */
int ocv_layout_open_blobs(const struct ocv_layout *layout, const char *algorithm, int *fd,
                          struct ocv_error *err);
/** OCV_ERR_INVALID if the layout was opened for reading. */
int ocv_layout_check_writable(const struct ocv_layout *layout, struct ocv_error *err);

/** Is the blob there with its size and, as was seen once of that very file, its content? A blob
 *  whose content does not match its name counts as missing, and a writer replaces it. */
int ocv_layout_find_blob(const struct ocv_layout *layout, const char *digest, int64_t size,
                         bool *present, struct ocv_error *err);
/** The blob that is open there has been checked. */
void ocv_layout_remember_blob(const struct ocv_layout *layout, const char *digest, int blob);

int ocv_index_json_load(const void *bytes, size_t len, json_t **out, struct ocv_error *err);
int ocv_index_json_find(const json_t *root, const char *tag, struct ocv_descriptor *out,
                        struct ocv_error *err);
int ocv_index_json_walk(const json_t *root, ocv_layout_visit visit, void *data);
int ocv_index_json_tag(json_t *root, const char *tag, const char *image_name,
                       const struct ocv_descriptor *descriptor, const struct ocv_platform *platform,
                       struct ocv_error *err);

#define OCV_TAR_BLOCK 512u
enum ocv_tar_type { OCV_TAR_FILE = '0', OCV_TAR_LINK = '2', OCV_TAR_DIR = '5' };
/** One ustar header with owner 0:0 and time 0; sizes from 8 GiB are written base-256, as GNU tar
 * and Go do. `name` at most 100 bytes, or 255 with a `/` in the right place; `link` may be NULL. */
int ocv_tar_header(unsigned char out[OCV_TAR_BLOCK], const char *name, const char *link,
                   unsigned mode, int64_t size, enum ocv_tar_type type, struct ocv_error *err);
/** Bytes of zeros that follow `size` bytes of content. */
size_t ocv_tar_padding(int64_t size);

#endif
