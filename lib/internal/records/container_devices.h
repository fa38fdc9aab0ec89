/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The accelerators that a container was given, as its runtime specification (config.json) has them.
 * Reads sysfs. */
#ifndef OCV_CONTAINER_DEVICES_H
#define OCV_CONTAINER_DEVICES_H

#include <jansson.h>
#include <stdbool.h>

#define OCV_CONTAINER_DEVICES_MAX 8192u /**< bytes of the list */

/** "ID,ID,...", each a CDI name ("nvidia.com/gpu=0") or a PCI address, for `given` of a verdict's
 *  question: what CDI was asked for (annotations cdi.k8s.io/...) and the PCI devices behind
 *  linux.devices and mounts of devices; if there are none, those that a variable
 *  ..._VISIBLE_DEVICES names one by one ("nvidia/visible=GPU-1"). `all`: the word "all" of such a
 *  variable counts, too, because something of the container acts on it; alone it is inherited by
 *  images. `root`: where sys and proc are, "" for this machine. NULL: it has none, or more than
 *  fit. To be freed. */
char *ocv_container_devices(const json_t *spec, bool all, const char *root);

#endif
