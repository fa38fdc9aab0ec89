/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a provider answers: one namespace of the profile. */
#ifndef OCV_RESULT_H
#define OCV_RESULT_H

#include "lib/probe/host/host.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <jansson.h>
#include <stdbool.h>

enum ocv_result_status { OCV_RESULT_OK, OCV_RESULT_PARTIAL, OCV_RESULT_FAILED, OCV_RESULT_ABSENT };

/** One namespace of the profile, while a provider fills it. Values stand best first. */
struct ocv_result {
    enum ocv_result_status status; /**< OCV_RESULT_ABSENT until a provider says otherwise */
    const char *source;            /**< where it comes from: "cpuid", "cpuinfo", ... */
    const char *variant;           /**< platform variant (CPU providers), or NULL */
    json_t *features;              /**< array of {"name", "values"} */
    json_t *devices;               /**< array of devices, most capable first; may stay empty */
    char driver[64];               /**< version of the namespace's driver, or empty */
    bool guess;                    /**< a value was inferred, from a table's ranges say */
    bool card;                     /**< a GPU that is not integrated serves builds */
    char note[256]; /**< with status partial: what is missing and why, for operators */
};

/** Append a value to a feature, which is added after the others when it is new. */
int ocv_result_add(struct ocv_result *result, const char *feature, const char *value,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Append a device; `name` may be NULL. The object is borrowed from the result, NULL without
 * memory. */
json_t *ocv_result_device(struct ocv_result *result, const char *id, const char *name);
/** Append a value to a device's own list of a feature. */
int ocv_device_add(json_t *device, const char *feature, const char *value,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Set a text attribute (memory in bytes, firmware, ...). NULL or empty: nothing. */
int ocv_device_attribute(json_t *device, const char *key, const char *value,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/* What a provider is. It reads `struct ocv_probe_host` and fills a `struct ocv_result`. */

struct ocv_declaration; /* declarative.h */

/** Source of one namespace. Stateless. */
struct provider {
    const char *name;
    const char *ns;
    const char *kind;    /**< "builtin", "declarative", "executable" */
    const char *version; /**< raised when the same machine gets another answer */
    bool cpu;            /**< left out of the profiles of other architectures */
    /** A failure is this namespace's only: it is reported in the profile. */
    int (*probe)(const struct ocv_probe_host *host, struct ocv_result *result,
                 struct ocv_error *err);
    const struct ocv_declaration *declaration; /**< kind "declarative": asked instead of `probe` */
    bool quiet;                                /**< left out of the profile where it is absent */
};

/* Indented JSON. */

/** Append JSON over several lines, without a final newline; what fits on a line stands on it. Keys
 *  must need no escapes. */
int ocv_pretty_append(const json_t *json, size_t indent, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
