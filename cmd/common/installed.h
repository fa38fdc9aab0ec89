/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespaces of the providers that are installed, also of those that are silent on this host. */
#ifndef OCV_INSTALLED_H
#define OCV_INSTALLED_H

#include "ocivariant-probe.h"

#define INSTALLED_MAX 256u              /**< namespaces */
#define INSTALLED_TEXT_MAX (64u * 1024) /**< bytes of their names */

/** Fill `list`, whose names point into `text`, and return how many there are; 0 where they cannot
 *  be read. Files that the build did not know are parsed: ask only where a name is unknown without
 *  them. */
size_t installed_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *text,
                            const char *list[INSTALLED_MAX]);

#endif
