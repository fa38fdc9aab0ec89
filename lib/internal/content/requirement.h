/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Conditions of NVIDIA's container toolkit: "cuda>=12.8 brand=tesla,driver>=535,driver<536" is
 * alternatives, separated by blanks, of conditions that all must hold, separated by commas. */
#ifndef OCV_CONTENT_REQUIREMENT_H
#define OCV_CONTENT_REQUIREMENT_H

#include "ocivariant/attributes.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Variables of the toolkit (https://docs.nvidia.com/datacenter/cloud-native/container-toolkit,
 * "Specialized Configurations with Docker"): what begins the names of those with conditions, what
 * turns these off, and the devices that are wanted. */
#define OCV_REQUIREMENT_PREFIX "NVIDIA_REQUIRE_"
#define OCV_REQUIREMENT_OFF "NVIDIA_DISABLE_REQUIRE"
#define OCV_REQUIREMENT_DEVICES "NVIDIA_VISIBLE_DEVICES"

#define OCV_CONDITIONS_MAX 1024u
#define OCV_CONDITION_TEXT 64
struct ocv_condition {
    size_t alternative;
    char name[OCV_CONDITION_TEXT], op[3], value[OCV_CONDITION_TEXT];
};
struct ocv_requirement {
    struct ocv_condition *list;
    size_t n, alternatives;
};
/** Parse. OCV_ERR_DATA says what is not understood. */
int ocv_requirement_parse(const char *text, struct ocv_requirement *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_requirement_free(struct ocv_requirement *requirement);
/** The lowest value of `name` that some alternative admits for every brand of device; NULL if one
 * asks for nothing. Points into the requirement. */
const char *ocv_requirement_least(const struct ocv_requirement *requirement, const char *name);

/** Compare dotted numbers ("12.8" < "12.10", "12" is "12.0"); letters compare as text. */
int ocv_version_compare(const char *a, const char *b);

#endif
