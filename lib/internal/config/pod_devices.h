/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which devices an image has to fit where each pod may get its own build (`workload`). */
#ifndef OCV_CONFIG_POD_DEVICES_H
#define OCV_CONFIG_POD_DEVICES_H

#include "lib/core/core_internal.h"
#include "lib/internal/config/choose.h"
#include "ocivariant/preferences.h"

/** What preferences borrow; zero-initialised. */
struct ocv_workload_input {
    struct ocv_config *devices;
    struct ocv_device_setting *settings;
    struct ocv_policy_setting *policies;
};
void ocv_workload_input_free(struct ocv_workload_input *input);

/** Has any repository `workload: devices`? */
bool ocv_workload_anywhere(const struct ocv_config *config);

/** Narrow the preferences to `devices` ("NS=ID[,ID][;NS=...]", empty: none); of every other
 *  namespace that has devices, to none. */
int ocv_workload_devices(const char *devices, const struct ocv_profile *profile,
                         struct ocv_workload_input *input, struct ocv_preferences *preferences,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** The devices in "ID,ID,..." as lib/internal/records/container_devices.h writes it.
 * OCV_ERR_INVALID where it is too long. */
int ocv_workload_given(const char *text, struct ocv_given_devices *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/** The preferences that an image of the configuration's repository has to fit. With `workload:
 *  devices` and a container's devices (`given`, such a text, or NULL) that the profile has: for
 *  these. Otherwise, with `workload` on: for any device of the node, since pods get builds for some
 *  of them. `*by` (may be NULL) becomes the devices that were used, OCV_GIVEN_FOUND_MAX bytes, or
 *  empty. */
int ocv_workload_preferences(const struct ocv_config *config, const struct ocv_profile *profile,
                             const char *given, struct ocv_workload_input *input,
                             struct ocv_preferences *out, char *by,
                             struct ocv_error *err) OCV_WARN_UNUSED;

#endif
