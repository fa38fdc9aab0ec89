/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A hash table of places by name. Names live where the places do. */
#ifndef OCV_NAME_TABLE_H
#define OCV_NAME_TABLE_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise, but set `name_of`, which gives the name at a place of `data`. */
struct ocv_names {
    const char *(*name_of)(const void *data, size_t place);
    uint32_t *slots; /* place + 1; 0: free */
    size_t room;     /* a power of two, or 0 */
    size_t count;
};

/** The place of a name, or SIZE_MAX. */
size_t ocv_names_find(const struct ocv_names *names, const void *data, const char *name);
/** Add a name that is not there. OCV_ERR_NOMEM leaves it as it was. */
int ocv_names_add(struct ocv_names *names, const void *data, size_t place, struct ocv_error *err);
void ocv_names_free(struct ocv_names *names);

#endif
