/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl claim --for slurm: the constraint of a job. */
#include "lib/internal/slurm/slurm.h"
#include "cmd/common/image/image.h"
#include "cmd/common/names.h"
#include "cmd/variantctl/claim/claim_verb.h"
#include "lib/base/cleanup.h"

#include <string.h>
#include <sys/utsname.h>

const struct ocv_option claim_slurm_options[] = {
    {.name = "features",
     .value = "TEXT",
     .help = "Slurm: its nodes' features, \"$(sinfo -ho %f)\"",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct claim_slurm, features)},
    {.name = "features-file",
     .value = "FILE",
     .help = "Slurm: the same in a file, '-' for standard input",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct claim_slurm, features_file)},
    {.name = "short",
     .help = "Slurm: the short features of `export slurm --short`",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct claim_slurm, use_short)},
    OCV_OPTIONS_END};

struct slurm_comments {
    const struct cli *cli;
    const struct ocv_index *index;
};

static void comment_entry(void *data, const struct ocv_entry *entry, const char *features)
{
    const struct slurm_comments *t = data;
    char name[80];
    cli_log(t->cli, "%s: %s", explain_choice(t->index, entry, name, sizeof(name)), features);
}

int claim_for_slurm(struct cli *cli, const struct claim_slurm *r, const char *index_file,
                    struct ocv_error *err)
{
    ocv_auto_image image = {0};
    ocv_auto(ocv_slurm_nodes) nodes = NULL;
    if ((r->features != NULL) + (r->features_file != NULL) != 1)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "%s: give --features \"$(sinfo -ho %%f)\", or --features-file",
                             cli->verb);
    OCV_TRY(cli_load(cli, err));
    /* Nodes whose features name no architecture are assumed to have this machine's. */
    struct utsname machine;
    char platform[sizeof(machine.machine) + 8];
    ocv_auto(ocv_platform) own = NULL;
    ocv_auto_buffer file;
    ocv_buffer_init(&file, OCV_SLURM_TEXT_MAX);
    if (r->features_file)
        OCV_TRY(cli_read_file(r->features_file, &file, err));
    const char *text = !r->features_file ? r->features : file.data ? file.data : "";
    snprintf(platform, sizeof(platform), "linux/%s", uname(&machine) == 0 ? machine.machine : "");
    if (ocv_platform_parse(platform, &own, NULL) < 0)
        own = NULL;
    if (ocv_slurm_nodes_read(text, r->features_file ? file.len : strlen(text),
                             own ? own->architecture : "amd64", &nodes, err) < 0)
        return ocv_error_prefix(err, "%s", r->features_file ? r->features_file : "--features");
    OCV_TRY(image_open_either(cli, index_file, *cli->arguments, &image, true, err));
    /* A name is correct if any of the kinds of nodes knows it. */
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image.reference);
    int known = OCV_OK;
    for (size_t i = 0; i < ocv_slurm_nodes_count(nodes); i++) {
        known = names_check(cli, config, ocv_slurm_nodes_profile(nodes, i), image.index, err);
        if (known == OCV_OK)
            break;
    }
    if (known < 0)
        return known;
    OCV_TRY(names_check_label(image.text, image.index, cli->label, err));
    OCV_TRY(image_finish(cli, &image, err));
    ocv_auto_buffer out;
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(cli->config, image.reference),
        .platform = cli->platform,
        .label = names_label(image.index, cli->label)};
    struct slurm_comments told = {cli, image.index};
    struct ocv_slurm_how how = {
        .options = &options, .use_short = r->use_short, .visit = comment_entry, .data = &told};
    ocv_buffer_init(&out, (size_t)64 * 1024 * 1024);
    if (ocv_buffer_printf(&out, err, "--constraint=") < 0 ||
        ocv_slurm_constraint(nodes, image.index, &how, &out, err) < 0)
        return ocv_error_prefix(err, "%s", image.text ? image.text : "--index");
    if (how.left_out)
        cli_warn(cli, "%zu alternative%s left out: no features tell the nodes from others",
                 how.left_out, how.left_out > 1 ? "s" : "");
    OCV_TRY(ocv_buffer_append(&out, "\n", 1, err));
    return cli_print(out.data, out.len, err);
}
