/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/core/core_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct ocv_feature *ocv_feature_find(const struct ocv_feature *list, size_t n,
                                           const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

bool ocv_device_is(const struct ocv_device *device, const char *text)
{
    char *end;
    long number = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : -1;
    if (number >= 0 && !*end)
        return number == device->index;
    if (device->uuid && !strcasecmp(device->uuid, text))
        return true;
    /* "0000:3b:00.0" and nvidia-smi's "00000000:3B:00.0" are one address */
    const char *id = device->id, *colon = strchr(id, ':'), *other = strchr(text, ':');
    bool addresses = colon && other && strchr(colon + 1, ':') && strchr(other + 1, ':');
    return !strcasecmp(id, text) ||
           (addresses && !strcasecmp(id + strspn(id, "0"), text + strspn(text, "0"))) ||
           (strlen(text) + 5 == strlen(id) && id[4] == ':' && !strcasecmp(id + 5, text));
}
