/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the configuration of an image says of the machine that it needs: its platform, and variables
 * of the environment and labels in which publishers write versions (schema/config-facts.yaml). No
 * I/O.
 *
 * Immutable once parsed; any number of threads may read it. Texts are borrowed from it. */
#ifndef OCV_CONTENT_IMAGE_CONFIG_H
#define OCV_CONTENT_IMAGE_CONFIG_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/profile.h"

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

/* Conditions of NVIDIA's container toolkit: "cuda>=12.8 brand=tesla,driver>=535,driver<536" is
 * alternatives, separated by blanks, of conditions that all must hold, separated by commas. */

/* Variables of the toolkit (https://docs.nvidia.com/datacenter/cloud-native/container-toolkit,
 * "Specialized Configurations with Docker"): what begins the names of those with conditions, what
 * turns these off, and the devices that are wanted. */
#define OCV_REQUIREMENT_PREFIX "NVIDIA_REQUIRE_"
#define OCV_REQUIREMENT_OFF "NVIDIA_DISABLE_REQUIRE"
#define OCV_REQUIREMENT_DEVICES "NVIDIA_VISIBLE_DEVICES"

#define OCV_CONDITIONS_MAX 1024u
#define OCV_CONDITION_TEXT 64
struct ocv_condition {
    size_t alternative;
    char name[OCV_CONDITION_TEXT], op[3], value[OCV_CONDITION_TEXT];
};
struct ocv_requirement {
    struct ocv_condition *list;
    size_t n, alternatives;
};
/** Parse. OCV_ERR_DATA says what is not understood. */
int ocv_requirement_parse(const char *text, struct ocv_requirement *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_requirement_free(struct ocv_requirement *requirement);
#define ocv_auto_requirement __attribute__((cleanup(ocv_requirement_free))) struct ocv_requirement
/** The lowest value of `name` that some alternative admits for every brand of device; NULL if one
 * asks for nothing. Points into the requirement. */
const char *ocv_requirement_least(const struct ocv_requirement *requirement, const char *name);

/** Compare dotted numbers ("12.8" < "12.10", "12" is "12.0"); letters compare as text. */
int ocv_version_compare(const char *a, const char *b);

/* Does an ordinary image fit a machine, by the conditions that its configuration has for NVIDIA's
 * container toolkit (NVIDIA_REQUIRE_*)? The toolkit itself checks them in its older modes alone. No
 * I/O. */

#define OCV_GPUS_MAX 64u /**< of a host; more are as these */

/** What conditions are compared with; texts are borrowed, NULL or empty: not known. */
struct ocv_gpu {
    char arch[16];     /**< "9.0" */
    const char *brand; /**< "geforcertx" */
    const char *name;  /**< for messages */
};
struct ocv_gpu_host {
    const char *driver, *cuda; /**< "535.161.08", "12.2": the newest that it supports */
    struct ocv_gpu gpus[OCV_GPUS_MAX];
    size_t n;
};
/** The GPUs that a profile has, of them those that `devices` names as NVIDIA_VISIBLE_DEVICES does
 * ("all", or indices and UUIDs; NULL: all). What it names otherwise is all of them. Borrows the
 * profile. */
void ocv_gpu_host_read(const struct ocv_profile *profile, const char *devices,
                       struct ocv_gpu_host *out);
/** The brand of a GPU of that name, as conditions have it. */
const char *ocv_gpu_brand(const char *name);

enum ocv_config_fit {
    OCV_CONFIG_NO_WORD, /**< it asks for nothing, or there is nothing to compare it with */
    OCV_CONFIG_FITS,
    OCV_CONFIG_WARNING, /**< it runs, or may; the reason says what to know */
    OCV_CONFIG_MISFIT,
};
const char *
ocv_config_fit_name(enum ocv_config_fit fit); /**< "none", "fits", "warning", "misfit" */

struct ocv_config_finding {
    enum ocv_config_fit fit;
    char reason[512]; /**< "this image is built for CUDA 13.0; driver 535.161 runs 12: driver 580 or
                         newer" */
};
/** Check all conditions of the configuration, each GPU by itself: the worst counts. Conditions
 * that cannot be read are a warning, and NVIDIA_DISABLE_REQUIRE gives OCV_CONFIG_NO_WORD.
 * OCV_ERR_NOMEM only. */
int ocv_config_check(const struct ocv_image_config *config, const struct ocv_gpu_host *host,
                     struct ocv_config_finding *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
