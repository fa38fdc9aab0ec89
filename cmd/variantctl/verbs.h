/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function per verb: argv[0] is the verb; returns the exit code. */
#ifndef OCV_VERBS_H
#define OCV_VERBS_H

#include "cli.h"

/** Options before a verb (`variantctl -v --config F index -v show`) are moved behind it, where the
 *  verb reads them. argv[0] is a program, or the verb that has verbs of its own. */
void verb_first(int argc, char **argv);

int cmd_probe(struct cli *cli, int argc, char **argv);
int cmd_resolve(struct cli *cli, int argc, char **argv);
int cmd_explain(struct cli *cli, int argc, char **argv);
int cmd_lint(struct cli *cli, int argc, char **argv);
int cmd_index(struct cli *cli, int argc, char **argv);
int cmd_index_create(struct cli *cli, int argc, char **argv);
int cmd_index_coverage(struct cli *cli, int argc, char **argv);
int cmd_index_show(struct cli *cli, int argc, char **argv);
int cmd_tags(struct cli *cli, int argc, char **argv);
int cmd_lock(struct cli *cli, int argc, char **argv);
int cmd_verify(struct cli *cli, int argc, char **argv);
int cmd_setup(struct cli *cli, int argc, char **argv);

#endif
