/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index VERB */
#include "cmd/variantctl/index/index_verbs.h"

#include <signal.h>
#include <string.h>

static const struct verb all[] = {
    {"create", "write an index over existing images", cmd_index_create},
    {"add", "add builds to an index", cmd_index_edit},
    {"remove", "take builds out of an index", cmd_index_edit},
    {"rm", NULL, cmd_index_edit},
    {"annotate", "change labels, properties and index annotations", cmd_index_edit},
    {"show", "what an index holds", cmd_index_show},
    {"ls", NULL, cmd_index_show},
    {"inspect", NULL, cmd_index_show},
    {"coverage", NULL, cmd_coverage},
    {"diff", "what changed from one index to another", cmd_index_diff},
    {"copy", "copy an index with everything in it", cmd_index_copy},
    {"push", NULL, cmd_index_copy},
    {NULL, NULL, NULL},
};

/* Set by the first signal: stop before the tag is written. A second signal ends the program. */
static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

int cmd_index(struct cli *cli, int argc, char **argv)
{
    const struct verbs verbs = {
        .usage = "Usage: variantctl index VERB [OPTIONS]\n\nVerbs:\n",
        .list = all,
        .end = "\nExamples:\n"
               "  variantctl index show registry.example/app:1.0\n"
               "  variantctl index create --from app.yaml\n"
               "  variantctl index copy registry.example/app:1.0 oci:mirror:app\n",
    };
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    cli->interrupted = &interrupted;
    return verbs_run(cli, &verbs, argc, argv);
}
