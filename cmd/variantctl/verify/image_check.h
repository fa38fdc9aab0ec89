/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether a local image fits this machine, and how to fix it. For `verify` and `images`. */
#ifndef OCV_VERIFY_IMAGE_CHECK_H
#define OCV_VERIFY_IMAGE_CHECK_H

#include "cmd/variantctl/verify/verify_known.h"

struct image_checker {
    struct cli *cli;
    char records[4096];
    bool ask;     /**< the daemon's profile is this machine's */
    bool configs; /**< check images without variants by their own configuration */
};

/** Read configuration and profile. */
int image_checker_begin(struct image_checker *checker, struct cli *cli,
                        struct ocv_error *err) OCV_WARN_UNUSED;

struct image_result {
    struct known_image known;
    const char *verdict; /**< "fits", "lesser", "misfit", "warning" (by its labels or configuration
                            alone), "none", "unknown"; static */
    const char *reason;  /**< or NULL */
    char *remedy;        /**< the command that pulls the right image, or NULL */
    struct ocv_buffer text;
    struct ocv_error err;
};

/** Check an ordinary image's configuration against this machine, under `config_policy`. True if it
 *  decides. */
bool image_check_config(const struct image_checker *checker, const struct local_image *image,
                        const char **verdict, struct ocv_buffer *reason);
/** Never fails: an image that cannot be checked is "unknown". */
void image_check(struct image_checker *checker, const struct local_image *image,
                 struct image_result *out);
void image_result_free(struct image_result *checked);

#endif
