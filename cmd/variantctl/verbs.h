/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function per verb: argv[0] is the verb; returns the exit code. */
#ifndef OCV_VERBS_H
#define OCV_VERBS_H

#include "cmd/common/cli.h"

/** A verb, or one of a verb's own. Without `help` it is another name of the one before it. */
struct verb {
    const char *name, *help;
    int (*run)(struct cli *cli, int argc, char **argv);
};

/** What people look for here and find elsewhere. */
struct verb_elsewhere {
    const char *name, *command;
};

/** A page that "help NAME" prints. */
struct verb_topic {
    const char *name, *help;
    void (*print)(void);
};

/** All of them, to a NULL name, and what stands around their list in the help. */
struct verbs {
    const char *usage;
    const struct verb *list;
    const char *end;
    const struct verb_elsewhere *elsewhere; /**< to a NULL name, or NULL */
    const struct verb_topic *topics;        /**< to a NULL name, or NULL */
};

/** Run the verb that is named: the exit code. argv[0] is the program, or the verb that has verbs of
 *  its own. Options before the verb (`variantctl -v --config F index -v show`) are moved behind it,
 *  where it reads them. */
int verbs_run(struct cli *cli, const struct verbs *verbs, int argc, char **argv);

int cmd_probe(struct cli *cli, int argc, char **argv);
int cmd_resolve(struct cli *cli, int argc, char **argv);
int cmd_explain(struct cli *cli, int argc, char **argv);
int cmd_derive(struct cli *cli, int argc, char **argv);
int cmd_lint(struct cli *cli, int argc, char **argv);
int cmd_index(struct cli *cli, int argc, char **argv);
int cmd_index_create(struct cli *cli, int argc, char **argv);
int cmd_coverage(struct cli *cli, int argc, char **argv);
int cmd_index_show(struct cli *cli, int argc, char **argv);
int cmd_tags(struct cli *cli, int argc, char **argv);
int cmd_lock(struct cli *cli, int argc, char **argv);
int cmd_vocabulary(struct cli *cli, int argc, char **argv);
int cmd_images(struct cli *cli, int argc, char **argv);
int cmd_verify(struct cli *cli, int argc, char **argv);
int cmd_match(struct cli *cli, int argc, char **argv);
int cmd_claim(struct cli *cli, int argc, char **argv);
int cmd_export(struct cli *cli, int argc, char **argv);
int cmd_fleet(struct cli *cli, int argc, char **argv);
int cmd_setup(struct cli *cli, int argc, char **argv);

#endif
