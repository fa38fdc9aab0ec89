/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images that are on this node: what engines and layouts list. */
#ifndef OCV_VERIFY_SOURCES_H
#define OCV_VERIFY_SOURCES_H

#include "cmd/common/cli.h"

/** One image somewhere. Borrowed for the call. */
struct local_image {
    const char *where; /**< "docker", "podman", "containerd:k8s.io", "oci:DIR" */
    const char *name;  /**< as the engine shows it, or NULL */
    /** Every digest that the engine knows it by, its manifest's first; none where it does not tell.
     *  Each with the repository that it came from, or NULL where only the image's name tells. */
    const char *const *digests;
    const char *const *repositories;
    size_t n_digests;
    const char *label; /**< config labels of DESIGN's two keys, or NULL */
    const char *properties;
    const struct ocv_index *index; /**< a layout's image index, with variants, or NULL */
};
typedef int (*local_image_visit)(void *data, const struct local_image *image);

/** Visit the images of one place: "docker", "podman", "containerd" (all its namespaces), "oci:DIR".
 *  Its client is not installed or nobody answers: OCV_ERR_NOT_FOUND. A non-zero return of `visit`
 *  stops and is returned. */
int local_images(const char *where, local_image_visit visit, void *data,
                 struct ocv_error *err) OCV_WARN_UNUSED;

#endif
