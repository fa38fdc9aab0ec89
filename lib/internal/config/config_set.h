/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How the readers of configuration put one checked member into the object. */
#ifndef OCV_CONFIG_SET_H
#define OCV_CONFIG_SET_H

#include "lib/base/format/yaml.h"
#include "lib/internal/config/config_internal.h"

/** What a file may hold. */
extern const struct ocv_yaml_rule ocv_config_rule;

enum ocv_key_shape {
    OCV_KEY_LIST,
    OCV_KEY_MAP,
    OCV_KEY_SCALAR,
    OCV_KEY_FILE_ONLY /* registries, repositories */
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
