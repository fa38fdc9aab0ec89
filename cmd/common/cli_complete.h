/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion of what the programs' values and arguments are: properties, labels, images of layouts.
 * Registries are not asked. */
#ifndef OCV_CLI_COMPLETE_H
#define OCV_CLI_COMPLETE_H

#include "cmd/common/cli.h"
#include "lib/base/complete.h"

/** Answer the shell: argv[1] to argv[argc - 1] are what stands behind the command's name. */
void cli_complete(const struct cli_command *command, const struct ocv_options *options, int argc,
                  char **argv);

/* What is typed is `head` and the beginning of a word; candidates are both. */

/** NS[::F[::V]]: its next part. `whole`: nothing less than all three will do. */
void complete_property(struct ocv_completion *c, const char *head, bool whole);
/** "oci:DIR[:TAG]": directories on the way to layouts, layouts, their tags. */
void complete_layout(struct ocv_completion *c, const char *head);
/** The labels of the first layout among the words before, `behind` at their end. */
void complete_labels(struct ocv_completion *c, const char *behind);

#endif
