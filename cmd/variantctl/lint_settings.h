/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A repository's lint settings, used by `lint` and by the verbs that publish. */
#ifndef OCV_LINT_SETTINGS_H
#define OCV_LINT_SETTINGS_H

#include "cmd/common/cli.h"
#include "lib/internal/lint/lint.h"

/** Read the settings file `path`; NULL: the nearest one from the current directory upwards to the
 *  top of the git repository. `*out` stays NULL if there is none. */
int lint_settings_read(const struct cli *cli, const char *path, struct ocv_lint_config **out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
