/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a container's config.json says of devices. */
#ifndef OCV_HOOK_CONTAINER_H
#define OCV_HOOK_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>

/** Is the container given an NVIDIA device: as a device or a mount, by CDI, or by a hook of
 * NVIDIA's container toolkit for NVIDIA_VISIBLE_DEVICES? That variable alone gives none: images
 * inherit it by FROM. */
bool container_gets_gpu(const json_t *config);
/** The essence of an image configuration with the container's environment
 * (lib/content/image_config.h), where that has conditions and the container gets such a device;
 * else NULL. To be freed. */
char *container_config(const json_t *config);
/** The GPUs that it is given, as NVIDIA_VISIBLE_DEVICES names them ("all", "0,2"); NULL: all. To be
 * freed. */
char *container_devices(const json_t *config);
/** The devices of whatever maker that it is given (lib/records/container_devices.h), or NULL. To be
 * freed. */
char *container_given(const json_t *config);

#endif
