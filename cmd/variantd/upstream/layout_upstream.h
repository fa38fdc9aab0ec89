/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory with an OCI layout that replaces a registry. Everything is read when asked for, so
 * content copied into the directory is served immediately. */
#ifndef VARIANTD_LAYOUT_UPSTREAM_H
#define VARIANTD_LAYOUT_UPSTREAM_H

#include "cmd/variantd/upstream/upstream.h"

/** Tags: `io.containerd.image.name` is a full name; an entry without it has its
 *  `org.opencontainers.image.ref.name` as a tag in every repository. */
int layout_head(const struct upstream *upstream, const struct ocv_reference *reference,
                struct head *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read into `document`, verified. */
int layout_get(const struct upstream *upstream, const struct ocv_reference *reference,
               const char *digest, struct document *document,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Open a blob for sending; the caller closes `*fd`. */
int layout_blob(const struct upstream *upstream, const char *digest, int *fd, int64_t *size,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** {"name", "tags"} of the repository. */
int layout_tags(const struct upstream *upstream, const struct ocv_reference *reference,
                struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
