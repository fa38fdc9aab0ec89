/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file resolve.h
 * Choosing an entry of an index for a host, in the order of PEP 825, with a reason for every other
 * one.
 *
 * Ownership: the caller owns a decision and frees it before the index and the profile, which it
 * borrows. Thread safety: a decision never changes, so any number of threads may read it.
 */
#ifndef OCIVARIANT_RESOLVE_H
#define OCIVARIANT_RESOLVE_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/preferences.h"
#include "ocivariant/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the user asks for beside the host's profile. Zero-initialised: nothing special. */
struct ocv_resolve_options {
    struct ocv_preferences preferences;  /**< such as ocv_config_preferences gives */
    const struct ocv_platform *platform; /**< --platform, or NULL for the profile's */
    const char *label;   /**< only this label, or NULL: the configuration's; "null": the default,
                              labelled so or not */
    bool unchecked;      /**< with label: also if this host cannot run it */
    bool any_use;        /**< leave the configuration's `require` aside */
    const char *made_of; /**< ocv_fit_check: the tag of which a rule made the variant, or NULL */
};

struct ocv_decision;
/** Choose. Pure. The decision borrows index and profile: both must outlive it. `options` may be
 *  NULL. Nothing fitting is not an error: ocv_decision_selected is NULL then. No platform in
 * profile and options: OCV_ERR_INVALID. */
OCV_API int ocv_resolve(const struct ocv_index *index, const struct ocv_profile *profile,
                        const struct ocv_resolve_options *options, struct ocv_decision **out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_decision_free(struct ocv_decision *decision);
/** Does a variant fit this host, checked by its own properties, when its index is not at hand (a
 * record of the node, labels of its config)? Properties of `statics` (namespaces joined by ", ", or
 * NULL) are defined by the index and not checked. `options` as for ocv_resolve. `*fits`; where it
 * does not, `reason` gets one line, and where it does the line of ocv_decision_note, if any.
 * Malformed properties: OCV_ERR_DATA. */
OCV_API int ocv_fit_check(const char *label, const char *properties, const char *statics,
                          const struct ocv_profile *profile,
                          const struct ocv_resolve_options *options, bool *fits,
                          struct ocv_buffer *reason, struct ocv_error *err) OCV_WARN_UNUSED;
/** The chosen entry or NULL. */
OCV_API const struct ocv_entry *ocv_decision_selected(const struct ocv_decision *decision);
/** Number of compatible entries. */
OCV_API size_t ocv_decision_order_count(const struct ocv_decision *decision);
/** The i-th best of them, NULL past the last. */
OCV_API const struct ocv_entry *ocv_decision_order(const struct ocv_decision *decision, size_t i);
/** What an older client gets: the first plain default for the platform, or NULL. */
OCV_API const struct ocv_entry *ocv_decision_default(const struct ocv_decision *decision);
/** Write the ids (ocv_index_property) of the entry's properties that this host supports, at most
 *  `max`, and return how many were written; 0 if the entry is not compatible. */
OCV_API size_t ocv_decision_matched(const struct ocv_decision *decision,
                                    const struct ocv_entry *entry, uint32_t *ids, size_t max);

/** Why an entry is out. Strings are borrowed from index, profile and decision. */
struct ocv_rejection {
    const struct ocv_entry *entry;
    enum ocv_reject code;
    const char *ns; /**< first failing feature by namespace, feature; NULL if not about one */
    const char *feature;
    const char *device;   /**< id of the device that is not served, or NULL */
    const char *required; /**< what it does not use ("ns :: feature"), or the glob of `deny` that
                             names it; or NULL */
    const char *origin;   /**< where the preferences come from, or NULL */
};
/** Number of entries that are out, each with its reason. */
OCV_API size_t ocv_decision_rejected_count(const struct ocv_decision *decision);
OCV_API struct ocv_rejection ocv_decision_rejected(const struct ocv_decision *decision, size_t i);
/** Why the i-th rejected entry is out, one sentence for people. Appends to `out`. */
OCV_API int ocv_decision_reason(const struct ocv_decision *decision, size_t i,
                                struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Place of the best rejected entry that this host has hardware for, but not as required, and that
 *  would have been chosen otherwise; the number of rejected entries if there is none. */
OCV_API size_t ocv_decision_missed(const struct ocv_decision *decision);
/** What would make it fit, for people; appends nothing where that is not known. */
OCV_API int ocv_decision_hint(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** A note on an entry that fits, one line for people: that it runs by CUDA's
 *  minor-version compatibility alone, with an older driver than its build was made for, and which
 *  driver has all of it; or that it brings a newer ROCm than was tested with the driver. Appends
 * nothing where there is nothing to say. */
OCV_API int ocv_decision_note(const struct ocv_decision *decision, const struct ocv_entry *entry,
                              struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the decision as JSON (dev.ocivariant.decision/v1), with a final newline. */
OCV_API int ocv_decision_format_json(const struct ocv_decision *decision, struct ocv_buffer *out,
                                     struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_decision)

#ifdef __cplusplus
}
#endif
#endif
