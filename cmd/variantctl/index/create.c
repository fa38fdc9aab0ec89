/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index create: an index of existing images, in the layout of schema/annotations.md. The
 * same input gives the same bytes. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/internal/edit/edit.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX (1024u * 1024)

static const struct ocv_option options[] = {
    {.name = "default",
     .value = "REF",
     .help = "the same as null=REF",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_LIST(struct edit, defaults)},
    {.name = "from",
     .value = "FILE.yaml",
     .help = "builds and their properties from a file\n"
             "(schema/index-source.schema.json)",
     OCV_OPTION_MEMBER(edit_take_once, struct edit, from)},
    {.name = "from-tags",
     .value = "[REPO:]GLOB",
     .help = "labels and properties of these tags by the tag rules",
     OCV_OPTION_MEMBER(edit_take_once, struct edit, tags)},
    {.name = "rules",
     .value = "FILE|DIR",
     .help = "more tag rules",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(edit_take_once, struct edit, rules)},
    {.name = "derive",
     .help = "add the properties that the images' files show",
     OCV_OPTION_FLAG(struct edit, build.derive)},
    {.group = edit_relabel_rows},
    EDIT_ANNOTATION_ROWS,
    EDIT_WRITE_ROWS(layout_rows),
    EDIT_WRITE_ROWS(lint_rows),
    EDIT_WRITE_ROWS(write_rows),
    {.name = "sign-with",
     .value = "CMD",
     .help = "what the last line shows to sign it with,\n"
             "in place of cosign; it is not run",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct edit, build.options.signer)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl index create [OPTIONS] REPO:TAG LABEL=REF[,PROPERTY...]...\n"
             "\n"
             "Write an index over existing images to a registry or, as oci:DIR:TAG, to an OCI\n"
             "layout. A PROPERTY is 'namespace :: feature :: value' (variantctl vocabulary).\n"
             "null=REF is the build that needs nothing: the default.\n",
    .details = "REF is REPO:TAG or oci:DIR:TAG; it is mounted or copied beside the index.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  variantctl index create oci:images:two null=oci:images:cpu \\\n"
           "      'cuda12.8=oci:images:cuda,nvidia :: cuda_version_lower_bound :: 12.8'\n"
           "  variantctl index create --from app.yaml\n"
           "  variantctl index create --dry-run --from-tags '1.0-*' registry.example/app:2.0\n"};

int cmd_index_create(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    __attribute__((cleanup(edit_free))) struct edit e = {.build = {.cli = cli}};
    int code = cli_read(cli, &command, &e, argc, argv);
    if (code >= 0)
        return code;
    ocv_auto(ocv_edit_source) source = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, SOURCE_MAX);
    if (e.from) {
        OCV_TRY(cli_read_file(e.from, &text, err));
        OCV_TRY(ocv_edit_source_parse(e.from, text.data ? text.data : "", text.len, &source, err));
    }
    const char *target = source ? ocv_edit_source_target(source) : NULL;
    char **arguments = cli->arguments;
    bool given = *arguments && (!target || !strchr(*arguments, '='));
    if (given)
        target = *arguments++;
    if (e.rules && !e.tags)
        return ocv_error_set(err, OCV_ERR_INVALID, "index create: --rules requires --from-tags");
    if (!target && e.tags)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index create: --from-tags needs the name of the index, too: index "
                             "create --from-tags '%s' REPO:TAG",
                             e.tags);
    if (target && !source && strchr(target, '='))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index create: the name of the index comes first: index create "
                             "REPO:TAG '%.200s'",
                             target);
    if (!target || (!*arguments && !e.defaults.n && !source && !e.tags))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index create: give REPO:TAG or oci:DIR:TAG, and at least one "
                             "LABEL=REF");
    struct build *b = &e.build;
    /* Options and arguments may add what the file lacks. */
    bool whole = !*arguments && !e.defaults.n && !e.annotations.n && !e.tags && !b->derive;
    b->from = e.from;
    OCV_TRY(edit_items(&e, arguments, err)); /* check usage before any request */
    OCV_TRY(cli_load(b->cli, err));
    if (source && whole)
        OCV_TRY(build_review_source(b, source, err));
    if (source && !b->options.has_layout)
        b->options.layout = ocv_edit_source_layout(source, OCV_EDIT_HIDDEN);
    b->derive = b->derive || (source && ocv_edit_source_derives(source));
    OCV_TRY(build_begin(b, target, false, err));
    if (source)
        OCV_TRY(build_from_source(b, e.from, source, err));
    OCV_TRY(edit_annotations(&e, err));
    if (e.tags)
        OCV_TRY(build_from_tags(b, e.tags, e.rules, err));
    OCV_TRY(build_read(b, err));
    return build_finish(b, err);
}
