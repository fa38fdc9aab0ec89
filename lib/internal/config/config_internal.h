/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a configuration is made of. */
#ifndef OCV_CONFIG_INTERNAL_H
#define OCV_CONFIG_INTERNAL_H

#include "lib/internal/config/config.h"
#include "ocivariant/preferences.h"

struct ocv_override {
    char *ns, *feature, *origin;
    struct ocv_strings values;
};

/** Where a registry's ca, cert or key was set. */
struct ocv_file_origin {
    char *host;
    const char *key; /* static */
    char *origin;
};

struct ocv_scalar {
    const char *key; /* one of the known keys, static */
    char *value, *origin;
};

/** What the images of some repositories have for themselves. */
struct ocv_repository_setting {
    char *glob, *origin; /* as written */
    char *pattern;       /* canonical */
    struct ocv_config *config;
};

#define OCV_CONFIG_ITEMS_MAX 4096u /* members of any list or map of a configuration */

struct ocv_config {
    struct ocv_strings namespace_priority;
    struct ocv_strings disable; /* canonical: "ns", "ns :: feature", "ns :: feature :: value" */
    struct ocv_strings require; /* likewise */
    struct ocv_strings known_namespaces;
    struct ocv_strings os_features;
    struct ocv_strings host_names;
    struct ocv_strings workload_annotations;
    struct ocv_policy_setting *policies;
    size_t n_policies;
    struct ocv_device_setting *devices;
    size_t n_devices;
    struct ocv_override *overrides;
    size_t n_overrides;
    struct ocv_registry_config *registries;
    size_t n_registries;
    struct ocv_file_origin *file_origins;
    size_t n_file_origins;
    struct ocv_strings allow;
    struct ocv_strings deny; /* of a repository's alone */
    struct ocv_scalar *scalars;
    size_t n_scalars;
    struct ocv_repository_setting *repositories;
    size_t n_repositories;
    const struct ocv_config *base; /* of a repository's: the one that applies where it sets nothing
                                    */
    uint64_t given;                /* of a repository's: its keys (ocv_config_key_bit) */
    uint64_t by_text;              /* keys that variables and flags set: over a repository's */
};

/** A list key's strings, the repository's or those below. `config` may be NULL: none. */
const struct ocv_strings *ocv_config_strings(const struct ocv_config *config, const char *key);
/** The layer that sets the key: a repository that names it, unless a variable or flag does. */
const struct ocv_config *ocv_config_layer(const struct ocv_config *config, const char *key);

#endif
