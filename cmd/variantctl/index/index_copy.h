/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies manifests and everything they name to another place. No tag is written here, so a failed
 * copy changes no name. */
#ifndef OCV_INDEX_COPY_H
#define OCV_INDEX_COPY_H

#include "cmd/common/image/image.h"
#include "cmd/common/progress/progress.h"
#include "cmd/variantctl/place/place.h"

struct copier {
    struct cli *cli;
    struct place *to;
    struct progress *progress;
    struct ocv_layout *staging; /**< blobs that pass from one registry to another */
    char staging_dir[256];
    size_t manifests;                                 /**< written */
    int64_t bytes_sent, bytes_mounted, bytes_present; /**< of blobs */
};

/** `mode`: PROGRESS_QUIET or another. */
int copier_open(struct cli *cli, struct place *to, enum progress_mode mode, struct copier *out,
                struct ocv_error *err) OCV_WARN_UNUSED;
void copier_close(struct copier *copier);
/** Copy an image manifest after its blobs. `config` (may be NULL): bytes of a config that is not
 *  stored anywhere yet. */
int copier_child(struct copier *copier, const struct image *from, const struct manifest_doc *child,
                 const struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;
/** Copy a manifest or index of the image's repository by digest, with everything below it. An index
 *  itself is left to the caller. */
int copier_tree(struct copier *copier, const struct image *from,
                const struct ocv_descriptor *descriptor, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same, including the index. */
int copier_document(struct copier *copier, const struct image *from,
                    const struct ocv_descriptor *descriptor, struct ocv_error *err) OCV_WARN_UNUSED;
/** A summary of what was copied, as text. */
const char *copier_summary(const struct copier *copier, char *out, size_t size);

#endif
