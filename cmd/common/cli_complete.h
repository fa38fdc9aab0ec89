/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion of values and arguments: properties, labels, images in layouts. No registry is asked.
 */
#ifndef OCV_CLI_COMPLETE_H
#define OCV_CLI_COMPLETE_H

#include "cmd/common/cli.h"
#include "lib/base/options.h"

/** Answer the shell; argv[1] to argv[argc - 1] are the words after the command's name. */
void cli_complete(const struct cli_command *command, const struct ocv_options *options, int argc,
                  char **argv);

/* The word is `head` and the beginning of a name; candidates include `head`. */

/** Offer the next part of NS[::F[::V]]. `whole`: all three parts are required. */
void complete_property(struct ocv_completion *c, const char *head, bool whole);
/** "oci:DIR[:TAG]": directories on the way to layouts, layouts, their tags. */
void complete_layout(struct ocv_completion *c, const char *head);
/** Files, and the installed profiles. */
void complete_profiles(struct ocv_completion *c, const char *head);
/** The labels of the first layout among the preceding words, each with `behind` appended. */
void complete_labels(struct ocv_completion *c, const char *behind);

#endif
