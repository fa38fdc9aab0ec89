/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the settings from what was read and given. */
#ifndef VARIANTD_SETTINGS_MAKE_H
#define VARIANTD_SETTINGS_MAKE_H

#include "cmd/variantd/common/settings.h"

#include <sys/socket.h>

/** What only flags say. Borrowed. */
struct settings_flags {
    const char *const *registries; /**< --registry HOST[=URL] */
    size_t n_registries;
    const char *const *layouts; /**< --layout DIR */
    size_t n_layouts;
    const char *profile_file;
    const char *datadir; /**< kept by the settings */
    const char *records; /**< where the configuration has no `state_dir`; borrowed */
    bool once;
};

/** Takes `config` over, also on failure. OCV_ERR_CONFIG for what makes no sense. */
int settings_make(struct ocv_config *config, const struct settings_flags *flags,
                  struct settings **out, struct ocv_error *err) OCV_WARN_UNUSED;
void settings_free(struct settings *settings);
/** "90", "90s", "10m", "1h", "500ms" to milliseconds. */
int settings_duration(const char *text, int64_t *ms, struct ocv_error *err) OCV_WARN_UNUSED;
/** "127.0.0.1:5050", "[::1]:5050", "localhost:5050". */
int settings_address(const char *text, struct sockaddr_storage *out, socklen_t *len,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
