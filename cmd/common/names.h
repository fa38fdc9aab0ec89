/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that select: a misspelt one ends a command, with the name that was meant. */
#ifndef OCV_NAMES_H
#define OCV_NAMES_H

#include "cmd/common/cli.h"

/** Hold the names in force in `config` against all that is known, and the index where there is one
 *  (may be NULL). `profile` is the host's without overrides; NULL: of no single host. Unknown:
 * OCV_ERR_CONFIG. What is only not on this host is an error of flags and variables; of a file,
 * which many hosts may share, a warning, and so is any name of a file where there is no index. */
int names_check(struct cli *cli, const struct ocv_config *config, const struct ocv_profile *profile,
                const struct ocv_index *index, struct ocv_error *err) OCV_WARN_UNUSED;
/** The label that is meant: "default" is null where no entry has it. `label` may be NULL. */
const char *names_label(const struct ocv_index *index, const char *label);
/** Has any entry that label? `label` may be NULL; `image`: its name. OCV_ERR_CONFIG: none has. */
int names_check_label(const char *image, const struct ocv_index *index, const char *label,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Nothing was chosen: why, and what can be done. `image`: its name; `reference` may be NULL.
 *  OCV_ERR_NO_MATCH; OCV_ERR_CONFIG for a label of the command line that the image does not have.
 */
int names_no_match(const struct cli *cli, const char *image, const struct ocv_reference *reference,
                   const struct ocv_index *index, const struct ocv_decision *decision,
                   struct ocv_error *err);

#endif
