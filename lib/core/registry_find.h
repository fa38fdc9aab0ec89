/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The entry for a registry, found alike by the configuration and the client. */
#ifndef OCV_REGISTRY_FIND_H
#define OCV_REGISTRY_FIND_H

#include "ocivariant/reference.h"
#include "ocivariant/registry_config.h"

#include <strings.h>

/** The entry of the list for this host, by any name of Docker Hub, or zeros. */
static inline struct ocv_registry_config ocv_registry_find(const struct ocv_registry_config *list,
                                                           size_t n, const char *host)
{
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(ocv_reference_host_canonical(list[i].host),
                        ocv_reference_host_canonical(host)))
            return list[i];
    return (struct ocv_registry_config){0};
}

#endif
