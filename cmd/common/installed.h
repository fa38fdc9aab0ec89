/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespaces of the installed providers, including those that find nothing on this host. */
#ifndef OCV_INSTALLED_H
#define OCV_INSTALLED_H

#include "ocivariant-probe.h"

#define INSTALLED_MAX 256u              /**< namespaces */
#define INSTALLED_TEXT_MAX (64u * 1024) /**< bytes of their names */

/** Fill `list`, whose names point into `text`, and return how many there are; 0 if they cannot be
 *  read. Parses provider files that the build did not know, so call it only for a name that is
 *  unknown otherwise. */
size_t installed_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *text,
                            const char *list[INSTALLED_MAX]);

#endif
