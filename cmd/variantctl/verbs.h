/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function per verb: argv[0] is the verb; returns the exit code, or a status below zero with
 * the error in cli->err, which is reported for it. */
#ifndef OCV_VERBS_H
#define OCV_VERBS_H

#include "cmd/common/cli.h"
#include "lib/internal/lint/lint.h"

#include <jansson.h>

/** A verb, possibly of another verb. Without `help` it is an alias of the one before it. */
struct verb {
    const char *name, *help;
    int (*run)(struct cli *cli, int argc, char **argv);
};

/** Something that users look for here but another command does. */
struct verb_elsewhere {
    const char *name, *command;
};

/** A page that "help NAME" prints. */
struct verb_topic {
    const char *name, *help;
    void (*print)(void);
};

/** All verbs, ending with a NULL name, and the help text around their list. */
struct verbs {
    const char *usage;
    const struct verb *list;
    const char *end;
    const struct verb_elsewhere *elsewhere; /**< ends with a NULL name; may be NULL */
    const struct verb_topic *topics;        /**< ends with a NULL name; may be NULL */
};

/** Run the named verb and return its exit code. argv[0] is the program, or a verb that has verbs.
 *  Options before the verb (`variantctl -v --config F index -v show`) are moved after it, where the
 *  verb reads them. */
int verbs_run(struct cli *cli, const struct verbs *verbs, int argc, char **argv);

int cmd_probe(struct cli *cli, int argc, char **argv);
/** `resolve` and `explain`, by argv[0]. */
int cmd_resolve(struct cli *cli, int argc, char **argv);
int cmd_derive(struct cli *cli, int argc, char **argv);
int cmd_slim(struct cli *cli, int argc, char **argv);
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
int cmd_export_backendai(struct cli *cli, int argc, char **argv);
int cmd_export_nfd(struct cli *cli, int argc, char **argv);
int cmd_export_slurm(struct cli *cli, int argc, char **argv);
int cmd_fleet(struct cli *cli, int argc, char **argv);
int cmd_setup(struct cli *cli, int argc, char **argv);

/** Append a document, indented, or print it, and free it; OCV_ERR_NOMEM if it is NULL. */
int format_document(json_t *root, struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
int print_document(json_t *root, struct ocv_error *err) OCV_WARN_UNUSED;

/* A repository's lint settings, used by `lint` and by the verbs that publish. */

/** Read the settings file `path`; NULL: the nearest one from the current directory upwards to the
 *  top of the git repository. `*out` stays NULL if there is none. */
int lint_settings_read(const struct cli *cli, const char *path, struct ocv_lint_config **out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

#endif
