/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/verdict: does an image that is here, or about to be pulled, fit this node? (docs/refusing.md;
 * plugins/common/verdict.c asks.) */
#ifndef VARIANTD_IMAGE_FIT_H
#define VARIANTD_IMAGE_FIT_H

#include "cmd/variantd/instance/instance.h"

/** What is known of the image; NULL if unknown. */
struct fit_question {
    const char *reference, *digest, *label, *properties;
    const char *config, *devices; /**< to check if it is an ordinary image */
    const char *given; /**< a container's devices, used where `workload: devices` is set */
    bool trusted;
    bool held; /**< it is on the node: an index stands for the entry that engines take by themselves
                */
};

/** Append {"verdict": "fits|lesser|misfit|none|index|unknown", "label", "fit", "reason"}. Optional
 *  members: "source": "labels" if only the image's own labels are known; "required" if a lesser
 *  image does not use what the configuration requires; "choose" if that is not on; "config":
 *  {"verdict": "fits|warning|misfit", "reason"} for an ordinary image with requirements; "trust":
 *  {"verdict": "good|bad", "reason"} where `trust` requires a signature, and `bad` also where none
 *  could be asked for. What
 *  cannot be determined is "unknown" with a reason, not an error. Blocks while a registry is
 *  asked. */
int fit_answer(const struct instance *instance, const struct fit_question *question,
               struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;

/** Check all records of the node: log the images that do not fit, and count them. */
void fit_review_records(const struct instance *instance, struct metrics *metrics);

#endif
