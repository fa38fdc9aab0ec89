/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the configuration of an image says of the machine that it needs: its platform, and variables
 * of the environment and labels in which publishers write versions (schema/config-facts.yaml). No
 * I/O.
 *
 * Immutable once parsed; any number of threads may read it. Texts are borrowed from it. */
#ifndef OCV_CONTENT_IMAGE_CONFIG_H
#define OCV_CONTENT_IMAGE_CONFIG_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>

#define OCV_IMAGE_CONFIG_MAX (1024u * 1024) /**< bytes */

struct ocv_image_config;
/** Parse. What is no JSON object, or too long: OCV_ERR_DATA. */
int ocv_image_config_parse(const void *bytes, size_t len, struct ocv_image_config **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_image_config_free(struct ocv_image_config *config);

/** "linux/arm64/v8" in `out`; false where it names no architecture, or one that is too long. */
bool ocv_image_config_platform(const struct ocv_image_config *config, char *out, size_t size);
/** The value of a variable, of several the last, as a runtime takes it; or NULL. */
const char *ocv_image_config_variable(const struct ocv_image_config *config, const char *name);
/** The next variable whose name begins with `prefix`, "NAME=VALUE"; NULL past the last. `*at`
 * starts at 0. */
const char *ocv_image_config_next(const struct ocv_image_config *config, const char *prefix,
                                  size_t *at);
const char *ocv_image_config_label(const struct ocv_image_config *config, const char *key);

/** A version that it states. */
struct ocv_image_version {
    const char *of;   /**< "cuda": as a notation of the tag rules is called */
    char source[128]; /**< "CUDA_VERSION" */
    char text[64];    /**< as it stands there, "12.8.1", cut where it is longer */
    char version[16]; /**< "12.8" */
};
/** The i-th version that it states, the best source of each thing first; false past the last. */
bool ocv_image_config_version(const struct ocv_image_config *config, size_t i,
                              struct ocv_image_version *out);
/** The version of one thing, by its best source; false: it states none. */
bool ocv_image_config_version_of(const struct ocv_image_config *config, const char *of,
                                 struct ocv_image_version *out);
/** The i-th maker for whose devices it says to be, without a version ("Habana"), and the variable
 * that says so; NULL past the last. */
const char *ocv_image_config_maker(const struct ocv_image_config *config, size_t i,
                                   const char **variable);

/** Append a reduced configuration, for caches: the functions above give the same answers for it. */
int ocv_image_config_essence(const struct ocv_image_config *config, struct ocv_buffer *out,
                             struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_image_config)

#endif
