/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index create: one index over images that exist already, in the layout of the
 * specification (schema/annotations.md). The same input gives the same bytes. */
#include "cmd/variantctl/index/index_build.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/edit/edit.h"

#include <stdlib.h>
#include <string.h>

static const struct option options[] = {{"default", required_argument, NULL, EDIT_OPTION_DEFAULT},
                                        {"from", required_argument, NULL, EDIT_OPTION_FROM},
                                        {"from-tags", required_argument, NULL, EDIT_OPTION_TAGS},
                                        {"rules", required_argument, NULL, EDIT_OPTION_RULES},
                                        {"relabel", no_argument, NULL, EDIT_OPTION_RELABEL},
                                        EDIT_INDEX_OPTIONS,
                                        LAYOUT_OPTION,
                                        LINT_OPTION,
                                        WRITE_OPTIONS,
                                        CLI_REGISTRY_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl index create [OPTIONS] REPO:TAG LABEL=REF[,PROPERTY...]...\n"
    "\n"
    "Write an index over existing images to a registry or, as oci:DIR:TAG, to an OCI\n"
    "layout. REF is REPO:TAG or oci:DIR:TAG; it is mounted or copied beside it.\n"
    "A PROPERTY is 'namespace :: feature :: value' (variantctl vocabulary). null=REF\n"
    "is the build that needs nothing: the default entry.\n"
    "\n"
    "Options:\n"
    "  --default REF            the same as null=REF\n"
    "  --from FILE.yaml         the same as a file (schema/index-source.schema.json)\n"
    "  --from-tags [REPO:]GLOB  labels and properties of these tags by the tag rules\n"
    "  --rules FILE|DIR         more tag rules\n"
    "  --relabel                write them into the images, too: new "
    "digests\n" EDIT_INDEX_HELP LAYOUT_HELP LINT_HELP WRITE_HELP CLI_COMMON_HELP CLI_REGISTRY_HELP
    "\n"
    "Examples:\n"
    "  variantctl index create registry.example/app:2.0 \\\n"
    "      null=registry.example/app:1.0-cpu \\\n"
    "      'cuda12.8=registry.example/app:1.0-cuda,nvidia :: sm_arch :: 90_real'\n"
    "  variantctl index create --from app.yaml\n"
    "  variantctl index create --dry-run oci:images:two null=oci:images:cpu \\\n"
    "      'v3=oci:images:v3,x86_64 :: level :: v3'\n";

static int add_items(struct edit *e, char **arguments, struct ocv_error *err)
{
    struct build *b = &e->build;
    int status = OCV_OK;
    for (size_t i = 0; i < e->n_defaults && status == OCV_OK; i++)
        status = build_item(b, NULL, e->defaults[i], NULL, NULL, err);
    for (size_t i = 0; arguments[i] && status == OCV_OK; i++)
        status = build_argument(b, arguments[i], err);
    return status;
}

static int run(struct edit *e, const char *target, char **arguments,
               const struct ocv_edit_source *source, struct ocv_error *err)
{
    struct build *b = &e->build;
    int status = add_items(e, arguments, err); /* wrong usage costs no request */
    if (status == OCV_OK)
        status = cli_load(b->cli, err);
    if (source && !b->options.has_layout)
        b->options.layout = ocv_edit_source_layout(source, OCV_EDIT_HIDDEN);
    if (status == OCV_OK)
        status = build_begin(b, target, false, err);
    if (status == OCV_OK && source)
        status = build_from_source(b, e->from, source, err);
    if (status == OCV_OK)
        status = edit_annotations(e, err);
    if (status == OCV_OK && e->tags)
        status = build_from_tags(b, e->tags, e->rules, err);
    if (status == OCV_OK)
        status = build_read(b, err);
    b->from = e->from;
    return status == OCV_OK ? build_finish(b, err) : status;
}

static int start(struct edit *e, int argc, char **argv, struct ocv_error *err)
{
    ocv_auto(ocv_edit_source) source = NULL;
    int status = e->from ? build_from_file(e->from, &source, err) : OCV_OK;
    if (status < 0)
        return status;
    const char *target = source ? ocv_edit_source_target(source) : NULL;
    char **arguments = argv + optind;
    bool given = optind < argc && (!target || !strchr(argv[optind], '='));
    if (given)
        target = *arguments++;
    if (e->rules && !e->tags)
        return ocv_error_set(err, OCV_ERR_INVALID, "index create: --rules is for --from-tags");
    if (!target || (!*arguments && !e->n_defaults && !source && !e->tags))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index create: give REPO:TAG or oci:DIR:TAG, and at least one "
                             "LABEL=REF");
    return run(e, target, arguments, source, err);
}

int cmd_index_create(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct edit e = {.build = {.cli = cli}};
    int status = edit_options(&e, argc, argv, options, help, &err);
    if (status == EDIT_GO_ON)
        status = start(&e, argc, argv, &err);
    edit_free(&e);
    return status < 0 ? cli_fail(cli, &err) : status;
}
