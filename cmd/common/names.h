/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks names that select something: an unknown name ends the command, with a suggestion. */
#ifndef OCV_NAMES_H
#define OCV_NAMES_H

#include "cmd/common/cli.h"

/** Check the names in `config` against all known names and the index (may be NULL). `profile` is
 *  the host's, without overrides; NULL: no single host. An unknown name is OCV_ERR_CONFIG. A name
 *  that is known but not on this host is an error in flags and variables, and a warning in a file,
 *  which many hosts may share. Without an index, any unknown name in a file is only a warning. */
int names_check(struct cli *cli, const struct ocv_config *config, const struct ocv_profile *profile,
                const struct ocv_index *index, struct ocv_error *err) OCV_WARN_UNUSED;
/** The label that is meant: "default" means null if no entry has that label. `label` may be
 *  NULL. */
const char *names_label(const struct ocv_index *index, const char *label);
/** Check that an entry has the label, which may be NULL; `image` is its name. OCV_ERR_CONFIG if
 * none has. */
int names_check_label(const char *image, const struct ocv_index *index, const char *label,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Nothing was chosen: explain why and what to do. `image` is its name; `reference` may be NULL;
 *  `tag` is the tag that a tag rule took for several ones, if it is there itself, else NULL.
 *  OCV_ERR_NO_MATCH, or OCV_ERR_CONFIG for a label given on the command line that the image
 *  lacks. */
int names_no_match(const struct cli *cli, const char *image, const struct ocv_reference *reference,
                   const struct ocv_index *index, const struct ocv_decision *decision,
                   const char *tag, struct ocv_error *err);

#endif
