/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a runtime tells a hook, and what the question to variantd takes from it. */
#ifndef OCV_HOOK_H
#define OCV_HOOK_H

#include "ocivariant.h"
#include "plugins/common/verdict.h"

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
/** The container's devices from any vendor (lib/internal/records/records.h), or NULL.
 * Freed by the caller. */
char *container_given(const json_t *config);

/* Looks up a container's image in the files of containers/storage (podman, CRI-O), because a
 * runtime hook only learns the container. */

struct storage_image {
    char digest[OCV_DIGEST_MAX]; /**< of the manifest, or empty */
    char name[512];              /**< its first name, or empty */
    bool lost; /**< there is an image, but its digest is not in the files, or they cannot be read */
};

/** `bundle`: "ROOT/overlay-containers/ID/userdata", or another driver's directory. `root`:
 *  directory of the images if that differs, or NULL. False if it is not such a directory, or no
 *  digest was found. */
bool storage_find(const char *bundle, const char *root, struct storage_image *out);

/* The container state that a runtime passes to a hook, and the question about its image. */

#define STATE_MAX (4u * 1024 * 1024) /**< bytes of the state, and of the bundle's config.json */

struct container_state {
    json_t *annotations; /* owns the question's strings */
    struct storage_image image;
    struct ocv_verdict_question question;
    char *config, *devices, *given; /* for the question, or NULL */
    bool unread; /* the bundle's config.json exists, but is invalid or too large */
};
/** Read `fd` to its end. NULL if it is not JSON, or too large. */
json_t *state_parse(int fd);
/** False: the image is unknown, and there is no configuration to check. Free `out` with state_free
 *  in any case. */
bool state_read(const json_t *json, struct container_state *out);
void state_free(struct container_state *state);

#endif
