/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl export slurm: the features of nodes. */
#include "lib/internal/slurm/slurm.h"
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"

#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)1024 * 1024 * 1024)
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

struct slurm_options {
    struct cli *cli;
    const char *fleet, *node;
    bool with_short, scontrol, features;
};

static const struct ocv_option options[] = {
    {.name = "profiles",
     .value = "FLEET",
     .help = "of many nodes, as for match, a line for each",
     OCV_OPTION_TEXT(struct slurm_options, fleet)},
    {.name = "short",
     .help = "short features as well, for `claim --short`",
     OCV_OPTION_FLAG(struct slurm_options, with_short)},
    {.name = "scontrol",
     .help = "the command that changes a running cluster",
     OCV_OPTION_FLAG(struct slurm_options, scontrol)},
    {.name = "features",
     .help = "only the features, as `sinfo -ho %f` prints them",
     OCV_OPTION_FLAG(struct slurm_options, features)},
    {.name = "node",
     .value = "NAME",
     .help = "with --scontrol: the node's name (this machine's)",
     OCV_OPTION_TEXT(struct slurm_options, node)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl export slurm [OPTIONS]\n"
             "\n"
             "Write what this machine, or the one of --profile, supports as Slurm's features,\n"
             "each property unchanged, for `claim --for slurm`. Feature=... is for a node's\n"
             "line in slurm.conf, and for slurmd -Z --conf \"$(variantctl export slurm)\".\n",
    .options = options,
    .groups = CLI_HOST,
    .end = "\n"
           "Examples:\n"
           "  variantctl export slurm\n"
           "  variantctl export slurm --profile h100.json --short\n"
           "  variantctl export slurm --profiles fleet --scontrol\n"};

static int put_node(const struct slurm_options *r, const char *name,
                    const struct ocv_profile *profile, struct ocv_buffer *out,
                    struct ocv_error *err)
{
    ocv_auto_buffer features;
    ocv_buffer_init(&features, OCV_SLURM_TEXT_MAX);
    OCV_TRY(ocv_slurm_features(profile, r->with_short, &features, err));
    const char *text = features.data ? features.data : "";
    size_t n = name ? strlen(name) : 0; /* Slurm parses a node's name as a host list */
    if (name && !r->features &&
        (!n || n > OCV_NODE_NAME_MAX || name[0] == '-' || strspn(name, NAME_CHARACTERS) != n))
        return ocv_error_set(err, OCV_ERR_DATA, "'%.253s' is not a valid node name in Slurm", name);
    if (r->features)
        return ocv_buffer_printf(out, err, "%s\n", *text ? text : "(null)");
    if (r->scontrol)
        return ocv_buffer_printf(
            out, err, "scontrol update NodeName=%s AvailableFeatures=%s ActiveFeatures=%s\n", name,
            text, text);
    return name ? ocv_buffer_printf(out, err, "NodeName=%s Feature=%s\n", name, text)
                : ocv_buffer_printf(out, err, "Feature=%s\n", text);
}

int cmd_export_slurm(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct slurm_options r = {.cli = cli};
    ocv_auto(ocv_fleet) fleet = NULL;
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OUTPUT_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    if (r.scontrol && r.features)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --scontrol or --features", cli->verb);
    OCV_TRY(cli_load(cli, err));
    if (r.fleet) {
        size_t skipped, k;
        OCV_TRY(ocv_fleet_new(&fleet, err));
        OCV_TRY(fleet_read(cli, r.fleet, false, fleet, &skipped, err));
        for (size_t i = 0; i < ocv_fleet_count(fleet); i++) {
            struct ocv_node node = ocv_fleet_node(fleet, i, &k);
            OCV_TRY(put_node(&r, node.name, ocv_fleet_class_profile(fleet, k), &out, err));
        }
    } else {
        const char *name = r.node;
        char own[256] = "";
        OCV_TRY(cli_profile(cli, err));
        if (!name && !cli->profile_file && gethostname(own, sizeof(own) - 1) == 0) {
            own[strcspn(own, ".")] = '\0'; /* like slurmd's default node name */
            name = own;
        }
        if (r.scontrol && !name)
            return ocv_error_set(err, OCV_ERR_INVALID, "%s: give --node, too", cli->verb);
        OCV_TRY(put_node(&r, r.scontrol ? name : NULL, cli->profile, &out, err));
    }
    return cli_print(out.data, out.len, err);
}
