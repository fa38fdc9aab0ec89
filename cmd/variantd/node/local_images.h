/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images on this node that were asked about: which ones are lesser builds than the node could have,
 * and which ones have no variants, so that no registry is asked again. One table per process, since
 * there is one node. Any thread. */
#ifndef VARIANTD_LOCAL_IMAGES_H
#define VARIANTD_LOCAL_IMAGES_H

#include "ocivariant.h"

#define HERE_MAX 4096u         /**< images; the ones reported longest ago are dropped */
#define HERE_S (24u * 60 * 60) /**< an image not reported for a day is dropped */

/** The result for an image. */
enum here { HERE_FITS, HERE_LESSER, HERE_ORDINARY };

/** Store the result for the image that a name stands for on this node, in place of the name's
 *  previous image. True if it is lesser and was not known to be. */
bool local_images_report(const struct ocv_reference *name, const char *digest, enum here what);
/** True if the image is known to have no variants. */
bool local_images_is_ordinary(const struct ocv_reference *name, const char *digest);
/** Number of lesser images. */
size_t local_images_lesser(void);

#endif
