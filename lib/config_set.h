/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How the readers of configuration put one checked member into the object. */
#ifndef OCV_CONFIG_SET_H
#define OCV_CONFIG_SET_H

#include "config.h"

enum ocv_key_shape { OCV_KEY_LIST, OCV_KEY_MAP, OCV_KEY_SCALAR, OCV_KEY_REGISTRIES };

/** The known key of that name, or NULL. */
const char *ocv_config_key(const char *name);
enum ocv_key_shape ocv_config_shape(const char *key);
/** Forget a list, map or the registries. */
void ocv_config_clear(struct ocv_config *c, const char *key);
int ocv_strings_add(struct ocv_strings *s, const char *text, size_t len, struct ocv_error *err);

/** One member of a list key. */
int ocv_config_add(struct ocv_config *c, const char *key, const char *text, struct ocv_error *err);
int ocv_config_add_policy(struct ocv_config *c, const char *ns, const char *text,
                          struct ocv_error *err);
/** `text` NULL: an empty list, which narrows the namespace to nothing. */
int ocv_config_add_device(struct ocv_config *c, const char *ns, const char *text,
                          struct ocv_error *err);
/** `value` NULL: an empty list, "not supported". */
int ocv_config_add_override(struct ocv_config *c, const char *ns, const char *feature,
                            const char *value, struct ocv_error *err);
/** OCV_ERR_CONFIG unless the key may have this text. */
int ocv_config_check_scalar(const char *key, const char *text, struct ocv_error *err);
int ocv_config_set_scalar(struct ocv_config *c, const char *key, const char *text,
                          struct ocv_error *err);

#endif
