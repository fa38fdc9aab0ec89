/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Does an ordinary image fit a machine, by the conditions that its configuration has for NVIDIA's
 * container toolkit (NVIDIA_REQUIRE_*)? The toolkit itself checks them in its older modes alone. No
 * I/O. */
#ifndef OCV_CONTENT_CONFIG_FIT_H
#define OCV_CONTENT_CONFIG_FIT_H

#include "lib/internal/content/image_config.h"
#include "lib/internal/content/requirement.h"
#include "ocivariant/profile.h"

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
