/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the content of a file, a directory or an image with content-scan. Each runs in a process of
 * its own, because archives are untrusted. Reports on layers are cached per user and digest. */
#ifndef OCV_DERIVE_READ_H
#define OCV_DERIVE_READ_H

#include "cmd/common/image/image.h"
#include "lib/internal/content/derived.h"

/** A file or a directory on this machine. */
int derive_read_path(struct cli *cli, const char *path, struct ocv_content_report *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** An image's layers, combined with its configuration and the properties given by hand; both may be
 *  NULL. */
int derive_read_content(struct cli *cli, const struct image *image,
                        const struct manifest_doc *child, const struct ocv_buffer *config,
                        const struct ocv_properties *given, struct ocv_content *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** The first namespace of a maker's devices in the set, other than `other` (or NULL); NULL: none.
 */
const char *derive_maker(const struct ocv_properties *set, const char *other);
/** True where the files have code for devices of two makers, which no machine has both. */
bool derive_has_two_makers(const struct ocv_content_derived *derived);
/** The properties given by hand, and derived ones for features without a given one. May be empty.
 *  `*base`: the same for the second entry of ocv_content_derive, or NULL. */
int derive_properties(const struct ocv_content *content, const struct ocv_properties *given,
                      struct ocv_properties **out, struct ocv_properties **base,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
