/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the settings from what was read and given. */
#ifndef VARIANTD_SETTINGS_MAKE_H
#define VARIANTD_SETTINGS_MAKE_H

#include "cmd/variantd/common/settings.h"

/** What only flags say. Borrowed. */
struct settings_flags {
    const char *const *registries; /**< --registry HOST[=URL] */
    size_t n_registries;
    const char *const *layouts; /**< --layout DIR */
    size_t n_layouts;
    const char *profile_file;
    const char *datadir; /**< kept by the settings */
    const char *records; /**< where the configuration has no `state_dir`; borrowed */
    bool once, whole_node;
};

/** Takes `config` over, also on failure. OCV_ERR_CONFIG for what makes no sense. */
int settings_make(struct ocv_config *config, const struct settings_flags *flags,
                  struct settings **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Files that the settings name: OCV_ERR_CONFIG for one that cannot be read or is not what it is
 *  named as, with the line that names it. */
int settings_check_files(const struct settings *settings, struct ocv_error *err) OCV_WARN_UNUSED;
/** Why nothing could be recorded in `records` now: 0, or an errno. */
int settings_records_fault(const struct settings *settings);
void settings_free(struct settings *settings);

#endif
