/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file preferences.h
 * What the administrator prefers, requires and rules out when an entry of an index is chosen.
 *
 * Ownership: a plain structure; everything in it is borrowed from the configuration it was made of,
 * or from the caller who filled it. Thread safety: no function here changes it.
 */
#ifndef OCIVARIANT_PREFERENCES_H
#define OCIVARIANT_PREFERENCES_H

#include "ocivariant/attributes.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which of a namespace's devices a variant must fit (`device_policy`): all, one, the first. */
enum ocv_policy { OCV_POLICY_ALL, OCV_POLICY_ANY, OCV_POLICY_FIRST };

/** Strings, each with where it was set: "FILE:LINE", "OCV_X", "--flag". */
struct ocv_strings {
    char **list;
    char **origins;
    size_t count;
};

/** The policy of a namespace. */
struct ocv_policy_setting {
    char *ns, *origin;
    enum ocv_policy policy;
};

/** The devices of a namespace that count, by their number or id. */
struct ocv_device_setting {
    char *ns, *origin;
    struct ocv_strings ids;
};

/** Zero-initialised: nothing is preferred. All is borrowed: ocv_config_preferences makes them of a
 *  configuration, which must outlive them. */
struct ocv_preferences {
    struct ocv_strings namespace_priority; /**< first is most important */
    struct ocv_strings disable;            /**< "ns", "ns :: feature", "ns :: feature :: value" */
    struct ocv_strings require;            /**< likewise: an entry must use each of them */
    const struct ocv_policy_setting *policies;
    size_t n_policies;
    const struct ocv_device_setting *devices;
    size_t n_devices;
    const char *label; /**< the one entry that is taken, or NULL */
    const char *label_origin;
    struct ocv_strings deny; /**< globs: no entry of such a label (`null`: the default), no image of
                                such a tag */
    const char *tag;         /**< that was asked for, for `deny`; or NULL */
};

/** Is a build never taken: by the tag that was asked for, by its label (`null`: the default), or by
 *  `made_of`, the tag of which a rule made it? Label and tag may be NULL: none, or not known.
 *  Labels have no `-`: in one that is made of a tag it is `_`, which a `-` of a glob matches there.
 *  `glob` and `origin`: by which member of `deny`. */
OCV_API bool ocv_preferences_deny(const struct ocv_preferences *preferences, const char *label,
                                  const char *made_of, const char **glob, const char **origin);

#ifdef __cplusplus
}
#endif
#endif
