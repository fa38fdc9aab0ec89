/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file pull.h
 * One image on its way: named, resolved, and handed to its destination.
 */
#ifndef VPULL_PULL_H
#define VPULL_PULL_H

#include "cmd/vpull/engines/destination.h"

/** Resolve and pull one image into `destination`; prints the result. Returns a status. */
int pull_image(struct cli *cli, const struct pull_options *options, struct progress *progress,
               const char *text, const struct destination *destination, const char *argument,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Label of what was chosen, here or for the lock; NULL where it has none. */
const char *pull_label(const struct pull *pull);
/** Of an image without an index: warn when its config names another platform, or when it was named
 * by digest and says of itself that it does not fit. */
int pull_check_lone(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remember on the node what was resolved; failure only shows with -v. */
void pull_record(const struct pull *pull);
/** Show the decision and the bytes to fetch. */
int pull_announce(struct pull *pull, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
