/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's events for devices and modules (netlink, kobject uevents). */
#ifndef VARIANTD_UEVENT_H
#define VARIANTD_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

/** A descriptor to poll, or -1 with errno. */
int uevent_open(void);
/** Read the pending events. True if any of them may change what the node can run; `why` is then,
 *  for example, "uevent: add module nvidia". */
bool uevent_read(int fd, char *why, size_t size);
/** Check one message: "ACTION@DEVPATH\0KEY=VALUE\0...". */
bool uevent_matters(const char *message, size_t len, char *why, size_t size);

#endif
