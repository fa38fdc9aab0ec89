/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Do two configurations say the same? */
#include "lib/internal/config/config_internal.h"

#include <string.h>

static bool text_differs(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0 || !a != !b;
}

static bool strings_differ(const struct ocv_strings *a, const struct ocv_strings *b)
{
    bool differ = a->count != b->count;
    for (size_t i = 0; !differ && i < a->count; i++)
        differ = text_differs(a->list[i], b->list[i]);
    return differ;
}

static bool scalar_differs(const struct ocv_config *a, const struct ocv_config *b, const char *key)
{
    const struct ocv_config *const both[] = {a, b};
    const char *said[] = {NULL, NULL};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->n_scalars; i++)
            if (strcmp(both[k]->scalars[i].key, key) == 0)
                said[k] = both[k]->scalars[i].value;
    return text_differs(said[0], said[1]);
}

static bool layer_differs(const struct ocv_config *a, const struct ocv_config *b, const char *key)
{
    /* the casts are safe: the lists are only read */
    const struct ocv_strings *x = ocv_config_list_of((struct ocv_config *)a, key);
    const struct ocv_strings *y = ocv_config_list_of((struct ocv_config *)b, key);
    if (x && y)
        return strings_differ(x, y);
    if (strcmp(key, "device_policy") == 0) {
        bool differ = a->n_policies != b->n_policies;
        for (size_t i = 0; !differ && i < a->n_policies; i++)
            differ = text_differs(a->policies[i].ns, b->policies[i].ns) ||
                     a->policies[i].policy != b->policies[i].policy;
        return differ;
    }
    if (strcmp(key, "devices") == 0) {
        bool differ = a->n_devices != b->n_devices;
        for (size_t i = 0; !differ && i < a->n_devices; i++)
            differ = text_differs(a->devices[i].ns, b->devices[i].ns) ||
                     strings_differ(&a->devices[i].ids, &b->devices[i].ids);
        return differ;
    }
    if (strcmp(key, "override") == 0) {
        bool differ = a->n_overrides != b->n_overrides;
        for (size_t i = 0; !differ && i < a->n_overrides; i++)
            differ = text_differs(a->overrides[i].ns, b->overrides[i].ns) ||
                     text_differs(a->overrides[i].feature, b->overrides[i].feature) ||
                     strings_differ(&a->overrides[i].values, &b->overrides[i].values);
        return differ;
    }
    return scalar_differs(a, b, key);
}

bool ocv_config_differs(const struct ocv_config *a, const struct ocv_config *b, const char *key)
{
    if (strcmp(key, "registries") == 0) {
        bool differ = a->n_registries != b->n_registries;
        for (size_t i = 0; !differ && i < a->n_registries; i++) {
            const struct ocv_registry_config *x = &a->registries[i], *y = &b->registries[i];
            differ = text_differs(x->host, y->host) || text_differs(x->url, y->url) ||
                     text_differs(x->ca, y->ca) || text_differs(x->cert, y->cert) ||
                     text_differs(x->key, y->key) || text_differs(x->mirror_of, y->mirror_of) ||
                     x->insecure != y->insecure;
        }
        differ = differ || a->n_path_mirrors != b->n_path_mirrors ||
                 strings_differ(&a->sparse, &b->sparse);
        for (size_t i = 0; !differ && i < a->n_path_mirrors; i++)
            differ = text_differs(a->path_mirrors[i].prefix, b->path_mirrors[i].prefix) ||
                     text_differs(a->path_mirrors[i].of, b->path_mirrors[i].of);
        return differ;
    }
    if (strcmp(key, "trust") == 0)
        return ocv_config_trust_differs(a, b);
    if (strcmp(key, "repositories") != 0)
        return layer_differs(a, b, key);
    bool differ = a->n_repositories != b->n_repositories;
    for (size_t i = 0; !differ && i < a->n_repositories; i++) {
        const struct ocv_repository_setting *x = &a->repositories[i], *y = &b->repositories[i];
        differ = text_differs(x->glob, y->glob) || x->config->given != y->config->given ||
                 scalar_differs(x->config, y->config, "label") ||
                 scalar_differs(x->config, y->config, "workload") ||
                 scalar_differs(x->config, y->config, "no_device") ||
                 strings_differ(&x->config->deny, &y->config->deny);
        for (const char *const *own = ocv_config_keys(); !differ && *own; own++)
            differ = ocv_config_repository_key(*own) && layer_differs(x->config, y->config, *own);
    }
    return differ;
}
