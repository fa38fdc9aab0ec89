/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What registries, and parts of them, mirror; and their names, which are spelt in several ways. */
#include "lib/base/text.h"
#include "lib/internal/config/config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool ocv_plain_name(const char *host, const char *path, char *out, size_t size)
{
    char plain[300];
    int n = snprintf(plain, sizeof(plain), "%s", host);
    if (n <= 0 || (size_t)n >= sizeof(plain))
        return false;
    for (char *c = plain; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < 2; i++) {
        static const char *const ports[] = {":443", ":80"};
        if (ocv_text_ends(plain, ports[i]))
            plain[strlen(plain) - strlen(ports[i])] = '\0';
    }
    const char *usual = ocv_reference_host_canonical(plain);
    bool official = !strcmp(usual, "docker.io") && !strchr(path, '/') && !strchr(path, '*');
    n = snprintf(out, size, "%s/%s%s", usual, official ? "library/" : "", path);
    return n > 0 && (size_t)n < size;
}

bool ocv_plain_text(const char *text, char *out, size_t size)
{
    char host[300];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    if (n >= sizeof(host))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)n, text);
    if (!ocv_plain_name(host, slash ? slash + 1 : "*", out, size))
        return false;
    if (!slash)
        *strrchr(out, '/') = '\0';
    return true;
}

bool ocv_config_upstream_name(const struct ocv_config *config,
                              const struct ocv_reference *reference, char *out, size_t size)
{
    char own[OCV_PLAIN_NAME_MAX], other[OCV_PLAIN_NAME_MAX];
    const struct ocv_registry_config *registries;
    const struct ocv_path_mirror *paths;
    const char *of = NULL;
    size_t best = 0;
    if (!ocv_plain_name(reference->host, reference->repository, own, sizeof(own)))
        return false;
    size_t n = ocv_config_path_mirrors(config, &paths);
    for (size_t i = 0; i < n; i++) {
        size_t len = ocv_plain_text(paths[i].prefix, other, sizeof(other)) ? strlen(other) : 0;
        if (len > best && !strncmp(own, other, len) && own[len] == '/') {
            best = len;
            of = paths[i].of;
        }
    }
    n = ocv_config_registries(config, &registries);
    for (size_t i = 0; i < n && !of; i++) {
        size_t len = ocv_plain_text(registries[i].host, other, sizeof(other)) ? strlen(other) : 0;
        if (len && !strncmp(own, other, len) && own[len] == '/') {
            best = len;
            of = registries[i].mirror_of;
        }
    }
    return of && ocv_plain_name(of, own + best + 1, out, size);
}

bool ocv_config_takes_next(const struct ocv_config *config, const struct ocv_reference *reference)
{
    char own[OCV_PLAIN_NAME_MAX], other[OCV_PLAIN_NAME_MAX];
    const struct ocv_config *layer = config ? ocv_config_layer(config, "registries") : NULL;
    if (!layer || !ocv_plain_name(reference->host, reference->repository, own, sizeof(own)))
        return false;
    for (size_t i = 0; i < layer->sparse.count; i++) {
        size_t len =
            ocv_plain_text(layer->sparse.list[i], other, sizeof(other)) ? strlen(other) : 0;
        if (len && !strncmp(own, other, len) && own[len] == '/')
            return true;
    }
    return false;
}
