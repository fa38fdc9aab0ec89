/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a configuration is made of. */
#ifndef OCV_CONFIG_INTERNAL_H
#define OCV_CONFIG_INTERNAL_H

#include "lib/base/format/yaml.h"
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

#define OCV_PLAIN_NAME_MAX 512
/** HOST/PATH by which names are compared, however they are spelt: the host in lower case, without
 * the port that a registry has anyway, Docker Hub by its usual name and with library/. False: too
 *  long. */
bool ocv_plain_name(const char *host, const char *path, char *out, size_t size);
/** The same of "HOST" or "HOST/PATH". */
bool ocv_plain_text(const char *text, char *out, size_t size);

/** Whose signature the images of some repositories need. */
struct ocv_trust_setting {
    char *glob, *origin, *pattern; /* as in ocv_repository_setting */
    struct ocv_strings keys;
    bool require, match;
};

#define OCV_CONFIG_ITEMS_MAX 4096u /* members of any list or map of a configuration */

struct ocv_config {
    void (*unknown)(const char *message); /* what files have that is not known; NULL: an error */
    struct ocv_strings namespace_priority;
    struct ocv_strings disable; /* canonical: "ns", "ns :: feature", "ns :: feature :: value" */
    struct ocv_strings require; /* likewise */
    struct ocv_strings known_namespaces;
    struct ocv_strings os_features;
    struct ocv_strings host_names;
    struct ocv_strings layout;
    struct ocv_strings workload_annotations;
    struct ocv_policy_setting *policies;
    size_t n_policies;
    struct ocv_device_setting *devices;
    size_t n_devices;
    struct ocv_override *overrides;
    size_t n_overrides;
    struct ocv_registry_config *registries;
    size_t n_registries;
    struct ocv_strings sparse; /* registries, and parts of them, with `sparse: next` */
    struct ocv_path_mirror *path_mirrors;
    size_t n_path_mirrors;
    struct ocv_trust_setting *trust;
    size_t n_trust;
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

/* How the readers of configuration put one checked member into the object. */

/** What a file may hold. */
extern const struct ocv_yaml_rule ocv_config_rule;

enum ocv_key_shape {
    OCV_KEY_LIST,
    OCV_KEY_MAP,
    OCV_KEY_SCALAR,
    OCV_KEY_FILE_ONLY /* registries, repositories, trust */
};

/** The known key of that name, or NULL; the same for keys of a repository. */
const char *ocv_config_key(const char *name);
const char *ocv_config_repository_key(const char *name);
enum ocv_key_shape ocv_config_shape(const char *key);
/** The key's bit in `given` and `by_text`. */
uint64_t ocv_config_key_bit(const char *key);
/** The strings of a list key; NULL for any other. */
struct ocv_strings *ocv_config_list_of(struct ocv_config *c, const char *key);
/** Forget a list, map, the registries or repositories. */
void ocv_config_clear(struct ocv_config *c, const char *key);
void ocv_strings_clear(struct ocv_strings *s);
int ocv_strings_add(struct ocv_strings *s, const char *text, size_t len, const char *origin,
                    struct ocv_error *err);

/* `origin`, here and below: where it was read, for messages. */

/** One member of a list key. */
int ocv_config_add(struct ocv_config *c, const char *key, const char *text, const char *origin,
                   struct ocv_error *err);
int ocv_config_add_policy(struct ocv_config *c, const char *ns, const char *text,
                          const char *origin, struct ocv_error *err);
/** `text` NULL: an empty list, which narrows the namespace to nothing. */
int ocv_config_add_device(struct ocv_config *c, const char *ns, const char *text,
                          const char *origin, struct ocv_error *err);
/** `value` NULL: an empty list, "not supported". */
int ocv_config_add_override(struct ocv_config *c, const char *ns, const char *feature,
                            const char *value, const char *origin, struct ocv_error *err);
/** A member of `repositories`, to be filled. */
int ocv_config_add_repository(struct ocv_config *c, const char *glob, const char *origin,
                              struct ocv_config **out, struct ocv_error *err);
/** A member of `trust`, to be filled; required, by any repository. */
int ocv_config_add_trust(struct ocv_config *c, const char *glob, const char *origin,
                         struct ocv_trust_setting **out, struct ocv_error *err);
void ocv_config_clear_trust(struct ocv_config *c);
bool ocv_config_trust_differs(const struct ocv_config *a, const struct ocv_config *b);
/** OCV_ERR_CONFIG unless the key may have this text; the message calls it `name`. */
int ocv_config_check_scalar(const char *key, const char *name, const char *text,
                            struct ocv_error *err);
int ocv_config_set_scalar(struct ocv_config *c, const char *key, const char *text,
                          const char *origin, struct ocv_error *err);

/** Check a glob of repositories and write it as references are: with the usual name of Docker Hub,
 * and library/. OCV_ERR_CONFIG. */
int ocv_glob_canonical(const char *glob, char **out, struct ocv_error *err);
/** Does it name HOST/REPOSITORY? */
bool ocv_glob_match(const char *pattern, const char *name);
/** Of two that do: with a registry rather than without, the longer before the first `*`, the one
 * with fewer of them. */
bool ocv_glob_more_specific(const char *a, const char *b);

#endif
