/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images on this node that were asked about: which of them are lesser builds than it could
 * have, and which have no variants at all, so that no registry is asked again. One table for the
 * process, as the node is one. Any thread. */
#ifndef VARIANTD_LOCAL_IMAGES_H
#define VARIANTD_LOCAL_IMAGES_H

#include "ocivariant.h"

#define HERE_MAX 4096u         /**< images; those reported longest ago go */
#define HERE_S (24u * 60 * 60) /**< an image that was not reported for a day is forgotten */

/** What was found out of an image. */
enum here { HERE_FITS, HERE_LESSER, HERE_ORDINARY };

/** Remember it of the image that a name stands for here, in place of what that stood for before.
 *  True where it is lesser and was not known to be. */
bool local_images_report(const struct ocv_reference *name, const char *digest, enum here what);
/** Is it known to have no variants? */
bool local_images_is_ordinary(const struct ocv_reference *name, const char *digest);
/** How many lesser ones there are. */
size_t local_images_lesser(void);

#endif
