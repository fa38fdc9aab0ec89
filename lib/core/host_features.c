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

const struct ocv_namespace *ocv_namespace_find(const struct ocv_namespace *list, size_t n,
                                               const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

/* "0000:3b:00.0" and nvidia-smi's "00000000:3B:00.0" are one address. */
static bool same_address(const char *a, const char *b)
{
    const char *colon_a = strchr(a, ':'), *colon_b = strchr(b, ':');
    if (!colon_a || !colon_b || !strchr(colon_a + 1, ':') || !strchr(colon_b + 1, ':'))
        return false;
    return !strcasecmp(a + strspn(a, "0"), b + strspn(b, "0"));
}

bool ocv_device_is(const struct ocv_device *device, const char *text)
{
    char *end;
    long number = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : -1;
    if (number >= 0 && !*end)
        return number == device->index;
    if (device->uuid && !strcasecmp(device->uuid, text))
        return true;
    size_t id = strlen(device->id), want = strlen(text);
    return !strcasecmp(device->id, text) || same_address(device->id, text) ||
           (want + 5 == id && device->id[4] == ':' && !strcasecmp(device->id + 5, text));
}
