/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files in which docker, podman and skopeo keep what `login` was told. */
#ifndef OCV_REGISTRY_PLACES_H
#define OCV_REGISTRY_PLACES_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>

/** In the order in which they are asked. */
struct ocv_auth_places {
    struct ocv_auth_place {
        char *path;
        size_t own; /**< length of the user's own directory in it, which stands in one that others
                         may write to; 0: the caller named it. See ocv_auth_place_safe */
    } list[8];
    size_t n;
};

/** Which those are for this process: variables of the environment, home, and user id. They need not
 *  be there. Freed with ocv_auth_places_free, also after an error. */
int ocv_auth_places_find(struct ocv_auth_places *out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_auth_places_free(struct ocv_auth_places *places);
/** False where the user's own directory is another user's, or others may write to it: anyone can
 * make such a directory in /tmp. */
bool ocv_auth_place_safe(const struct ocv_auth_place *place);
/** "FILE, FILE and FILE", as far as there is room. */
void ocv_auth_places_name(const struct ocv_auth_places *places, char *out, size_t size);

#endif
