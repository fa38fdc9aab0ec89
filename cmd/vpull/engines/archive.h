/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file archive.h
 * An image fetched into a temporary layout, for destinations that take a whole archive.
 */
#ifndef VPULL_ARCHIVE_H
#define VPULL_ARCHIVE_H

#include "cmd/vpull/engines/destination.h"

struct staging {
    char dir[4096];
    int lock;    /* the directory, with flock: one vpull at a time stages an image there */
    bool unique; /* random name, since the usual one was taken: cannot be resumed */
    struct ocv_layout *layout;
};

/** Fetch the chosen image into a private directory beside the file `near` (same file system), or in
 *  TMPDIR (/var/tmp) if NULL. The directory is named after the image, so that the next vpull can
 *  resume an interrupted fetch. Call staging_remove in every case. */
int staging_fetch(struct pull *pull, const char *near, struct staging *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Write a docker-archive tar under the result's name. */
int staging_write(const struct pull *pull, const struct staging *staging, int fd,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the directory, or keep it for a resume if `status` says that the fetch was cut short. */
void staging_remove(struct staging *staging, int status);

#endif
