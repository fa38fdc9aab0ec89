/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies one image manifest and everything it names into an OCI layout. */
#ifndef OCV_TRANSFER_H
#define OCV_TRANSFER_H

#include "cmd/common/image/image.h"

/** An image manifest with its bytes. */
struct manifest_doc {
    struct ocv_descriptor descriptor;
    struct ocv_buffer body;
    struct ocv_manifest *manifest;
};

/** Read and check manifest `descriptor` of the image. Free `out` with child_free in every case. */
int child_read(struct cli *cli, const struct image *image, const struct ocv_descriptor *descriptor,
               struct manifest_doc *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The descriptor of an index entry. OCV_ERR_DATA if it is too long to be one. */
int child_descriptor(const struct ocv_entry *entry, struct ocv_descriptor *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
void child_free(struct manifest_doc *child);
/** Bytes of the config and of the distinct layers. */
int64_t child_bytes(const struct manifest_doc *child);
/** Fetch missing blobs (progress: 0 is the config, then the layers), then write the manifest. */
int child_transfer(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                   struct ocv_layout *to, unsigned jobs, ocv_fetch_progress progress, void *data,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Read and verify the image config, at most config->max bytes. */
int child_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                 struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
