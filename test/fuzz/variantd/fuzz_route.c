/* SPDX-License-Identifier: GPL-3.0-or-later */
/* URLs of the mirror: any URL gives only a configured registry and a valid name. Input: MODE, URL
 * and, after a line feed, `ns`. */
#include "cmd/variantd/mirror/route.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct upstream upstreams[] = {
    {.name = "docker.io", .segment = "docker.io"},
    {.name = "localhost:5000", .segment = "localhost--5000"},
    {.name = "registry.example", .segment = "registry.example"},
};

static void check(const struct route *route)
{
    bool named = route->kind >= ROUTE_TAG && route->kind <= ROUTE_REFERRERS;
    if (named != (route->reference != NULL))
        abort();
    if (!named)
        return;
    const struct ocv_reference *ref = route->reference;
    if (route->upstream < upstreams || route->upstream >= upstreams + 3 ||
        strcmp(ref->host, route->upstream->name) != 0)
        abort();
    if (strstr(ref->repository, "..") || strpbrk(ref->repository, "%?#@: \\") ||
        ref->repository[0] == '/' || strlen(ref->name) > 255)
        abort();
    bool digest =
        route->kind == ROUTE_DIGEST || route->kind == ROUTE_BLOB || route->kind == ROUTE_REFERRERS;
    if (digest != (ref->digest != NULL) || digest == (ref->tag != NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings = {
        .upstreams = upstreams, .n_upstreams = 3, .default_upstream = &upstreams[0]};
    if (size < 1)
        return 0;
    settings.mode = data[0] % 3;
    if (data[0] & 64)
        settings.default_upstream = NULL;
    char *url = strndup((const char *)data + 1, size - 1);
    if (!url)
        return 0;
    char *ns = strchr(url, '\n');
    if (ns)
        *ns++ = '\0';
    struct route route;
    route_parse(&settings, url, ns, &route);
    check(&route);
    route_clear(&route);
    free(url);
    return 0;
}
