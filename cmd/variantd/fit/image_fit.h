/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/verdict: does an image that is here, or about to be, fit this node? (docs/refusing.md;
 * asked by plugins/common/verdict.c.) */
#ifndef VARIANTD_JUDGE_H
#define VARIANTD_JUDGE_H

#include "cmd/variantd/instance.h"

/** What is known of the image; NULL what is not. */
struct judge_question {
    const char *reference, *digest, *label, *properties;
    bool trusted;
    bool held; /**< it is on the node: an index stands for what engines take of it by themselves */
};

/** Append {"verdict": "fits|lesser|misfit|none|index|unknown", "label", "fit", "reason"}, and
 * "source": "labels" where nothing but the image's own labels says so, and "required" where a
 * lesser one does not use what the configuration requires. What cannot be told is "unknown" with
 * the reason, not an error. Blocks while a registry is asked. */
int judge(const struct instance *instance, const struct judge_question *question,
          struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;
/** What was chosen in the index at a reference (NULL: nothing fits), for hooks and verify, to be
 *  written once the image was seen. `daemon`: read with the daemon's credentials. NULL: it cannot
 *  be recorded; that is logged once. */
struct ocv_record_note *judge_note(const struct settings *settings,
                                   const struct ocv_reference *reference,
                                   const struct ocv_index *index, const struct ocv_entry *entry,
                                   bool daemon);
void judge_record(const struct settings *settings, const struct ocv_record_note *note);

/** Judge every record of the node: log those that do not fit, and count them. */
void judge_records(const struct instance *instance, struct metrics *metrics);

#endif
