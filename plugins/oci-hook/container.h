/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices in a container's config.json. */
#ifndef OCV_HOOK_CONTAINER_H
#define OCV_HOOK_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>

/** True if the container gets an NVIDIA device: as a device or a mount, by CDI, or by a hook of
 *  NVIDIA's container toolkit with NVIDIA_VISIBLE_DEVICES. The variable alone does not count:
 *  images inherit it by FROM. */
bool container_gets_gpu(const json_t *config);
/** The essence of an image configuration with the container's environment
 *  (lib/internal/content/image_config.h), if that has conditions and the container gets such a
 * device; else NULL. Freed by the caller. */
char *container_config(const json_t *config);
/** The container's GPUs as NVIDIA_VISIBLE_DEVICES names them ("all", "0,2"); NULL: all. Freed by
 *  the caller. */
char *container_devices(const json_t *config);
/** The container's devices from any vendor (lib/internal/records/container_devices.h), or NULL.
 * Freed by the caller. */
char *container_given(const json_t *config);

#endif
