/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/verdict: does an image that is here, or about to be, fit this node? (docs/refusing.md;
 * asked by plugins/common/verdict.c.) */
#ifndef VARIANTD_IMAGE_FIT_H
#define VARIANTD_IMAGE_FIT_H

#include "cmd/variantd/instance/instance.h"

/** What is known of the image; NULL what is not. */
struct fit_question {
    const char *reference, *digest, *label, *properties;
    const char *config, *devices; /**< to be checked where it is an ordinary image */
    const char *given; /**< a container's devices, judged by where `workload: devices` holds */
    bool trusted;
    bool held; /**< it is on the node: an index stands for what engines take of it by themselves */
};

/** Append {"verdict": "fits|lesser|misfit|none|index|unknown", "label", "fit", "reason"}, and
 * "source": "labels" where nothing but the image's own labels says so, and "required" where a
 * lesser one does not use what the configuration requires, and "choose" where that is not on, and
 * "config": {"verdict": "fits|warning|misfit", "reason"} of an ordinary image that asks for
 * something. What cannot be told is "unknown" with the reason, not an error. Blocks while a
 * registry is asked. */
int fit_answer(const struct instance *instance, const struct fit_question *question,
               struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;

/** Check every record of the node: log those that do not fit, and count them. */
void fit_review_records(const struct instance *instance, struct metrics *metrics);

#endif
