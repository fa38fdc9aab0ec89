/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images on this node, as listed by engines and layouts. */
#ifndef OCV_VERIFY_SOURCES_H
#define OCV_VERIFY_SOURCES_H

#include "cmd/common/cli.h"

#include <jansson.h>

/** One image under one of its names. Borrowed during the call. */
struct local_image {
    const char *where; /**< "docker", "podman", "containerd:k8s.io", "oci:DIR" */
    const char *name;  /**< as the engine shows it; its id where it has no name; or NULL */
    /** All digests by which the engine knows it, its manifest's first; none if unknown. Each has
     *  the repository from which it came, or NULL if only the image's name shows that. */
    const char *const *digests;
    const char *const *repositories;
    size_t n_digests;
    const char *label; /**< config labels of DESIGN's two keys, or NULL */
    const char *properties;
    const json_t *config; /**< the image's configuration, {"config": {"Env": ...}} at least, or NULL
                             where its place does not tell by itself */
    const char *given; /**< of a container: its devices (lib/internal/records/container_devices.h),
                          or NULL */
    const struct ocv_index *index; /**< a layout's image index, with variants, or NULL */
};
typedef int (*local_image_visit)(void *data, const struct local_image *image);

/** Visit the images of one place, once for each of their names: "docker", "podman", "containerd"
 *  (all its namespaces), "oci:DIR", where of an index without variants the image for the profile's
 * platform is meant. OCV_ERR_NOT_FOUND: its client is not installed, or the engine does not answer.
 * OCV_ERR_ENGINE: some images could not be read, the others have been visited. Messages quote the
 * client. A non-zero return of `visit` stops the iteration and is returned. */
int local_images(const char *where, const struct ocv_profile *profile, local_image_visit visit,
                 void *data, struct ocv_error *err) OCV_WARN_UNUSED;

/** Visit one image of an engine once, under one of its names. `name` is its id in docker and
 *  podman, and a name in "containerd:NS", a namespace of ctr. */
int local_images_named(const char *where, const char *name, local_image_visit visit, void *data,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Visit the images of running containers at the same places, each with the container's devices;
 *  `where` is "PLACE, container NAME". A layout has none. Containers that cannot be read are
 *  skipped. */
int local_containers(const char *where, local_image_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/** Hook of struct cli_command for PLACE. */
bool local_images_complete(struct ocv_completion *c, const char *kind);

#endif
