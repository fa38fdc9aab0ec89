/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the settings from the configuration and flags. */
#ifndef VARIANTD_SETTINGS_MAKE_H
#define VARIANTD_SETTINGS_MAKE_H

#include "cmd/variantd/common/settings.h"

/** Settings that only flags can make. Borrowed. */
struct settings_flags {
    const char *const *registries; /**< --registry HOST[=URL] */
    size_t n_registries;
    const char *const *layouts; /**< --layout DIR */
    size_t n_layouts;
    const char *profile_file;
    const char *datadir; /**< kept by the settings */
    const char *records; /**< used if the configuration has no `state_dir`; borrowed */
    bool once, whole_node;
};

/** Takes over `config`, even on failure. OCV_ERR_CONFIG if the settings are inconsistent. */
int settings_make(struct ocv_config *config, const struct settings_flags *flags,
                  struct settings **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Check the files that the settings name: OCV_ERR_CONFIG if one cannot be read or has the wrong
 *  content, with the line that names it. */
int settings_check_files(const struct settings *settings, struct ocv_error *err) OCV_WARN_UNUSED;
/** 0 if choices can be recorded in `records` now, else an errno. */
int settings_records_fault(const struct settings *settings);
void settings_free(struct settings *settings);

#endif
