/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does an image that is here fit this machine, and what is to be done about it? For `verify` and
 * `images`. */
#ifndef OCV_VERIFY_JUDGE_H
#define OCV_VERIFY_JUDGE_H

#include "cmd/variantctl/verify/verify_known.h"

struct judge {
    struct cli *cli;
    char records[4096];
    bool ask; /**< the daemon knows this machine */
};

/** Read configuration and profile. */
int judge_begin(struct judge *judge, struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;

struct judged {
    struct known known;
    const char *verdict; /**< "fits", "lesser", "misfit", "warning" (by its labels alone), "none",
                              "unknown"; static */
    const char *reason;  /**< or NULL */
    char *remedy;        /**< the command that pulls the right one, or NULL */
    struct ocv_buffer text;
    struct ocv_error err;
};

/** Never fails: what cannot be judged is "unknown". */
void judge_image(struct judge *judge, const struct local_image *image, struct judged *out);
void judged_free(struct judged *judged);

#endif
