/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The keys of a configuration: their names, what kind of value each takes, and which of them a
 * repository may have for itself. */
#include "lib/config/config_set.h"

#include <stddef.h>
#include <string.h>

static const char *const keys[] = {
    "namespace_priority",
    "disable",
    "require",
    "device_policy",
    "devices",
    "override",
    "known_namespaces",
    "os_features",
    "cpu_levels",
    "repositories",
    "registries",
    "tag_rules",
    "to",
    "listen",
    "socket",
    "state_dir",
    "host_names",
    "mode",
    "tag_ttl",
    "probe_interval",
    "serve_private",
    "credentials",
    "metrics_listen",
    "log",
    "access_log",
    "policy",
    "fail",
    "allow",
    NULL,
};

/* Keys of a member of `repositories`; "label" stands nowhere else. */
static const char *const repository_keys[] = {
    "label", "disable", "require", "device_policy", "tag_rules", "cpu_levels",
};

static const struct {
    const char *key;
    size_t offset;
} lists[] = {
    {"namespace_priority", offsetof(struct ocv_config, namespace_priority)},
    {"disable", offsetof(struct ocv_config, disable)},
    {"require", offsetof(struct ocv_config, require)},
    {"known_namespaces", offsetof(struct ocv_config, known_namespaces)},
    {"os_features", offsetof(struct ocv_config, os_features)},
    {"host_names", offsetof(struct ocv_config, host_names)},
    {"allow", offsetof(struct ocv_config, allow)},
};

#define N(list) (sizeof(list) / sizeof(*(list)))
_Static_assert(N(keys) <= 64, "a key is a bit of uint64_t");

const char *const *ocv_config_keys(void)
{
    return keys;
}

const char *ocv_config_key(const char *name)
{
    for (size_t i = 0; keys[i]; i++)
        if (!strcmp(keys[i], name))
            return keys[i];
    return NULL;
}

const char *ocv_config_repository_key(const char *name)
{
    for (size_t i = 0; i < N(repository_keys); i++)
        if (!strcmp(repository_keys[i], name))
            return repository_keys[i];
    return NULL;
}

uint64_t ocv_config_key_bit(const char *key)
{
    size_t i = 0;
    while (keys[i] && strcmp(keys[i], key) != 0)
        i++;
    return UINT64_C(1) << i; /* "label": the one past the last */
}

struct ocv_strings *ocv_config_list_of(struct ocv_config *c, const char *key)
{
    for (size_t i = 0; i < N(lists); i++)
        if (!strcmp(lists[i].key, key))
            return (struct ocv_strings *)((char *)c + lists[i].offset);
    return NULL;
}

enum ocv_key_shape ocv_config_shape(const char *key)
{
    static const char *const maps[] = {"device_policy", "devices", "override"};
    for (size_t i = 0; i < N(lists); i++)
        if (!strcmp(lists[i].key, key))
            return OCV_KEY_LIST;
    for (size_t i = 0; i < N(maps); i++)
        if (!strcmp(maps[i], key))
            return OCV_KEY_MAP;
    return strcmp(key, "registries") && strcmp(key, "repositories") ? OCV_KEY_SCALAR
                                                                    : OCV_KEY_FILE_ONLY;
}
