/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/verdict: does an image that is here, or about to be, fit this node? (docs/refusing.md;
 * asked by plugins/common/verdict.c.) */
#ifndef VARIANTD_JUDGE_H
#define VARIANTD_JUDGE_H

#include "instance.h"

/** What is known of the image; NULL what is not. */
struct judge_question {
    const char *reference, *digest, *label, *properties;
    bool trusted;
};

/** Append {"verdict": "fits|misfit|none|index|unknown", "label", "fit", "reason"}, and "source":
 * "labels" where nothing but the image's own labels says so. What cannot be
 * told is "unknown" with the reason, not an error. Blocks while a registry is asked. */
int judge(const struct instance *instance, const struct judge_question *question,
          struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;
/** An entry's properties in canonical form, and those of its namespaces that are the index's own.
 */
int judge_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                   struct ocv_buffer *properties, struct ocv_buffer *statics,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep the index at a reference and what was chosen in it (NULL: nothing fits), for hooks and
 *  verify. `daemon`: read with the daemon's credentials. A failure is logged once. */
void judge_record(const struct settings *settings, const struct ocv_reference *reference,
                  const struct ocv_index *index, const struct ocv_entry *entry, bool daemon);

/** Judge every record of the node: log those that do not fit, and count them. */
void judge_records(const struct instance *instance, struct metrics *metrics);

#endif
