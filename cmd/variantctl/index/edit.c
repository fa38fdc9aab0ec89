/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index add, remove, annotate: an index that is there already. Entries that are not
 * named keep their bytes, whatever tool wrote them. */
#include "lib/edit/edit.h"
#include "cmd/variantctl/index/index_verbs.h"

#include <stdlib.h>
#include <string.h>

static const struct option add_options[] = {
    {"default", required_argument, NULL, EDIT_OPTION_DEFAULT},
    {"relabel", no_argument, NULL, EDIT_OPTION_RELABEL},
    EDIT_INDEX_OPTIONS,
    LAYOUT_OPTION,
    LINT_OPTION,
    WRITE_OPTIONS,
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const struct option remove_options[] = {
    {"platform", required_argument, NULL, EDIT_OPTION_PLATFORM},
    {"default", no_argument, NULL, EDIT_OPTION_ORDINARY},
    EDIT_INDEX_OPTIONS,
    LINT_OPTION,
    WRITE_OPTIONS,
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const struct option annotate_options[] = {
    {"platform", required_argument, NULL, EDIT_OPTION_PLATFORM},
    {"label", required_argument, NULL, EDIT_OPTION_LABEL},
    {"relayout", no_argument, NULL, EDIT_OPTION_RELAYOUT},
    EDIT_INDEX_OPTIONS,
    LAYOUT_OPTION,
    LINT_OPTION,
    WRITE_OPTIONS,
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const char add_help[] =
    "Usage: variantctl index add [OPTIONS] REPO:TAG LABEL=REF[,PROPERTY...]...\n"
    "\n"
    "Add builds to an index. The arguments are those of 'index create'.\n"
    "\n"
    "Options:\n"
    "  --default REF            the default entry; the same as null=REF\n"
    "  --relabel                write them into the images, too: new "
    "digests\n" EDIT_INDEX_HELP LAYOUT_HELP LINT_HELP WRITE_HELP CLI_COMMON_HELP CLI_REGISTRY_HELP
    "\n"
    "Examples:\n"
    "  variantctl index add registry.example/app:1.0 \\\n"
    "      'cuda12.6=registry.example/app:1.0-cuda,nvidia :: sm_arch :: 80_real'\n"
    "  variantctl index add oci:images:app 'v4=oci:images:v3,x86_64 :: level :: v4'\n"
    "  variantctl index add --dry-run registry.example/app:1.1 \\\n"
    "      'rocm6.4=registry.example/app:1.0-cuda,amd :: gfx_arch :: gfx90a'\n";

static const char remove_help[] =
    "Usage: variantctl index remove [OPTIONS] REPO:TAG LABEL|DIGEST...\n"
    "\n"
    "Take builds, and what attests to them, out of an index. Their images stay in the\n"
    "registry until it cleans up.\n"
    "\n"
    "Options:\n"
    "  --platform OS/ARCH       only of this platform\n"
    "  --default                the default entries without annotations; null is\n"
    "                           the same where no entry has that label\n" EDIT_INDEX_HELP LINT_HELP
        WRITE_HELP CLI_COMMON_HELP CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl index remove registry.example/app:1.0 cuda12.8\n"
    "  variantctl index remove --dry-run --platform linux/arm64 oci:images:app null\n"
    "  variantctl index remove --default oci:images:app\n";

static const char annotate_help[] =
    "Usage: variantctl index annotate [OPTIONS] REPO:TAG [LABEL=PROPERTY[,...]]...\n"
    "\n"
    "Change what an index says of builds: their properties, their label, or what is\n"
    "on the index itself. An entry that another tool wrote is named by its digest.\n"
    "\n"
    "Options:\n"
    "  --label LABEL|DIGEST=LABEL  the label of an entry\n"
    "  --platform OS/ARCH       only of this platform\n"
    "  --relayout               order, platforms, annotations as of 'index create',\n"
    "                           for an index that another tool made; null becomes\n"
    "                           the default entry without annotations\n" EDIT_INDEX_HELP LAYOUT_HELP
        LINT_HELP WRITE_HELP CLI_COMMON_HELP CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl index annotate registry.example/app:1.0 \\\n"
    "      'cuda12.8=nvidia :: sm_arch :: 90_real'\n"
    "  variantctl index annotate --namespaces 'amd, nvidia, x86_64' oci:images:app\n"
    "  variantctl index annotate --label cuda12.8=cuda --dry-run oci:images:app\n";

static int begin(struct edit *e, const char *target, struct ocv_error *err)
{
    int status = cli_load(e->build.cli, err);
    return status == OCV_OK ? build_begin(&e->build, target, true, err) : status;
}

static int end(struct edit *e, struct ocv_error *err)
{
    int status = edit_annotations(e, err);
    if (status == OCV_OK && e->relayout)
        status = ocv_edit_relayout(e->build.document, err);
    return status == OCV_OK ? build_finish(&e->build, err) : status;
}

static int run_add(struct edit *e, char **arguments, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < e->n_defaults && status == OCV_OK; i++)
        status = build_item(&e->build, NULL, e->defaults[i], NULL, NULL, err);
    for (size_t i = 1; arguments[i] && status == OCV_OK; i++)
        status = build_argument(&e->build, arguments[i], err);
    if (status == OCV_OK)
        status = begin(e, arguments[0], err);
    if (status == OCV_OK)
        status = build_read(&e->build, err);
    return status == OCV_OK ? end(e, err) : status;
}

static int run_remove(struct edit *e, char **arguments, struct ocv_error *err)
{
    int status = begin(e, arguments[0], err);
    if (status < 0)
        return status;
    if (e->ordinary)
        status = ocv_edit_remove(e->build.document, NULL, e->platform, err);
    for (size_t i = 1; arguments[i] && status == OCV_OK; i++)
        status = ocv_edit_remove(e->build.document, arguments[i], e->platform, err);
    return status < 0 ? ocv_error_prefix(err, "%s", arguments[0]) : end(e, err);
}

/* WHICH=TEXT: a digest has no '=' in it, a label neither. */
static int annotate_one(struct edit *e, const char *text, bool label, struct ocv_error *err)
{
    ocv_auto(ocv_properties) properties = NULL;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not LABEL=%s", text,
                             label ? "LABEL" : "PROPERTY[,...]");
    char *which = strndup(text, (size_t)(equals - text));
    if (!which)
        return ocv_error_nomem(err);
    int status =
        label ? OCV_OK : ocv_properties_parse(equals + 1, strlen(equals + 1), &properties, err);
    if (status == OCV_OK)
        status = ocv_edit_annotate(e->build.document, which, e->platform, label ? equals + 1 : NULL,
                                   properties, err);
    if (status < 0 && status != OCV_ERR_NOT_FOUND)
        ocv_error_prefix(err, "%s", which);
    free(which);
    return status;
}

static int run_annotate(struct edit *e, char **arguments, struct ocv_error *err)
{
    int status = begin(e, arguments[0], err);
    for (size_t i = 1; arguments[i] && status == OCV_OK; i++)
        status = annotate_one(e, arguments[i], false, err);
    for (size_t i = 0; i < e->n_labels && status == OCV_OK; i++)
        status = annotate_one(e, e->labels[i], true, err);
    if (status == OCV_ERR_NOT_FOUND)
        ocv_error_prefix(err, "%s", arguments[0]);
    return status == OCV_OK ? end(e, err) : status;
}

static int run_verb(struct cli *cli, int argc, char **argv, const struct option *options,
                    const char *help, int (*run)(struct edit *, char **, struct ocv_error *))
{
    struct ocv_error err = {0};
    struct edit e = {.build = {.cli = cli}};
    int status = edit_options(&e, argc, argv, options, help, &err);
    bool nothing = argc - optind < 2 && !e.n_defaults && !e.ordinary && !e.n_labels &&
                   !e.n_annotations && !e.relayout;
    if (status == EDIT_GO_ON && (argc - optind < 1 || nothing))
        status = ocv_error_set(&err, OCV_ERR_INVALID, "index %s: give REPO:TAG and what to change",
                               argv[0]);
    else if (status == EDIT_GO_ON)
        status = run(&e, argv + optind, &err);
    edit_free(&e);
    return status < 0 ? cli_fail(cli, &err) : status;
}

int cmd_index_add(struct cli *cli, int argc, char **argv)
{
    return run_verb(cli, argc, argv, add_options, add_help, run_add);
}

int cmd_index_remove(struct cli *cli, int argc, char **argv)
{
    return run_verb(cli, argc, argv, remove_options, remove_help, run_remove);
}

int cmd_index_annotate(struct cli *cli, int argc, char **argv)
{
    return run_verb(cli, argc, argv, annotate_options, annotate_help, run_annotate);
}
