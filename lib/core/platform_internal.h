/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How platforms compare. */
#ifndef OCV_PLATFORM_INTERNAL_H
#define OCV_PLATFORM_INTERNAL_H

#include "ocivariant/platform.h"

/** The architecture in OCI's spelling ("x86_64" -> "amd64"). */
const char *ocv_platform_architecture(const char *architecture);
bool ocv_platform_same_architecture(const struct ocv_platform *a, const struct ocv_platform *b);
/** Compare what makes two entries of an operating system and architecture different: version,
 *  variant (x-... and what all machines are count as none) and features, which must be sorted. */
int ocv_platform_compare(const struct ocv_platform *a, const struct ocv_platform *b);

#endif
