/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file pull.h
 * One image: resolve it, then hand it to its destination.
 */
#ifndef VPULL_PULL_H
#define VPULL_PULL_H

#include "cmd/vpull/engines/destination.h"

/** Resolve and pull one image into `destination`; `prints` gets what belongs on standard output.
 *  Thread-safe with a struct cli and a progress of its own. Returns a status. */
int pull_image(struct cli *cli, const struct pull_options *options, struct progress *progress,
               const char *text, const struct destination *destination, const char *argument,
               struct ocv_buffer *prints, struct ocv_error *err) OCV_WARN_UNUSED;
/** Label of the choice, made here or for the lock; NULL if it has none. */
const char *pull_label(const struct pull *pull);
/** For an image without an index: warn if its config names another platform, or if it was given by
 *  digest and its labels say that it does not fit. */
int pull_check_lone(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;
/** Record the choice on the node; a failure shows only with -v. */
void pull_record(const struct pull *pull);
/** Print the decision and the bytes to fetch. */
int pull_announce(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
