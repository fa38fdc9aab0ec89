/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table for programs that load this library with dlopen. Members are only ever appended. */
#include "ocivariant/registry.h"

static const struct ocv_registry_api api = {
    .version = 2,
    .open = ocv_registry_new,
    .free = ocv_registry_free,
    .head = ocv_registry_head,
    .get = ocv_registry_get,
    .fetch = ocv_registry_fetch,
    .get_blob = ocv_registry_get_blob,
    .credentials = ocv_registry_credentials,
    .http = ocv_engine_http,
    .stream = ocv_registry_stream,
    .tags = ocv_registry_tags,
    .put = ocv_registry_put,
    .has_blob = ocv_registry_has_blob,
    .push = ocv_registry_push,
};

const struct ocv_registry_api *ocv_registry_api(void)
{
    return &api;
}
