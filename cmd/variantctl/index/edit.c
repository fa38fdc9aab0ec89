/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index add, remove, annotate: edit an existing index. All other entries keep their
 * bytes, whichever tool wrote them. */
#include "lib/internal/edit/edit.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static const struct ocv_option add_options[] = {{.name = "default",
                                                 .value = "REF",
                                                 .help = "the default; the same as null=REF",
                                                 OCV_OPTION_LIST(struct edit, defaults)},
                                                {.name = "replace",
                                                 .help =
                                                     "replace the build with that label\n"
                                                     "(and keep its properties if none are given)",
                                                 OCV_OPTION_FLAG(struct edit, build.replace)},
                                                {.group = edit_relabel_rows},
                                                EDIT_ANNOTATION_ROWS,
                                                EDIT_WRITE_ROWS(layout_rows),
                                                EDIT_WRITE_ROWS(lint_rows),
                                                EDIT_WRITE_ROWS(write_rows),
                                                OCV_OPTIONS_END};

static const struct ocv_option remove_options[] = {
    {.group = edit_platform_rows},
    {.name = "default",
     .help = "the defaults without annotations\n"
             "(null is the same where no entry has that label)",
     OCV_OPTION_FLAG(struct edit, ordinary)},
    EDIT_ANNOTATION_ROWS,
    EDIT_WRITE_ROWS(lint_rows),
    EDIT_WRITE_ROWS(write_rows),
    OCV_OPTIONS_END};

static const struct ocv_option annotate_options[] = {
    {.name = "label",
     .value = "LABEL|DIGEST=LABEL",
     .help = "a new label for an entry",
     OCV_OPTION_LIST(struct edit, labels)},
    {.group = edit_platform_rows},
    {.name = "relayout",
     .help = "order, platforms and annotations of 'index create'\n"
             "(for an index that another tool made; null becomes\n"
             "the default without annotations)",
     OCV_OPTION_FLAG(struct edit, relayout)},
    EDIT_ANNOTATION_ROWS,
    EDIT_WRITE_ROWS(layout_rows),
    EDIT_WRITE_ROWS(lint_rows),
    EDIT_WRITE_ROWS(write_rows),
    OCV_OPTIONS_END};

static const struct cli_command add_command = {
    .usage = "Usage: variantctl index add [OPTIONS] REPO:TAG LABEL=REF[,PROPERTY...]...\n"
             "\n"
             "Add builds to an index. The arguments are those of 'index create'.\n",
    .options = add_options,
    .groups = CLI_REGISTRY,
    .arguments = {"REPO:TAG and LABEL=REF of a build", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index add registry.example/app:1.0 \\\n"
           "      'cuda12.6=registry.example/app:1.0-cuda,nvidia :: sm_arch :: 80_real'\n"
           "  variantctl index add oci:images:app 'v4=oci:images:v3,x86_64 :: level :: v4'\n"
           "  variantctl index add --dry-run --replace registry.example/app:1.0 \\\n"
           "      cuda12.8=registry.example/app:1.0-cuda\n"};

static const struct cli_command remove_command = {
    .usage = "Usage: variantctl index remove [OPTIONS] REPO:TAG LABEL|DIGEST...\n"
             "\n"
             "Remove builds and their attestations from an index. Their images stay in the\n"
             "registry until it cleans up.\n",
    .options = remove_options,
    .groups = CLI_REGISTRY,
    .arguments = {"REPO:TAG and the LABEL or DIGEST to remove", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index remove registry.example/app:1.0 cuda12.8\n"
           "  variantctl index remove --dry-run --platform linux/arm64 oci:images:app null\n"
           "  variantctl index remove --quiet oci:images:app rocm7.1\n"};

static const struct cli_command annotate_command = {
    .usage = "Usage: variantctl index annotate [OPTIONS] REPO:TAG [LABEL=PROPERTY[,...]]...\n"
             "\n"
             "Change the properties or the label of builds, or the annotations of the index\n"
             "itself. LABEL+=PROPERTY adds to those it has, LABEL-=PROPERTY takes one away.\n"
             "An entry that another tool wrote is named by its digest.\n",
    .options = annotate_options,
    .groups = CLI_REGISTRY,
    .arguments = {"REPO:TAG and what to change", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index annotate registry.example/app:1.0 \\\n"
           "      'cuda12.8=nvidia :: sm_arch :: 90_real'\n"
           "  variantctl index annotate --namespaces 'amd, nvidia, x86_64' oci:images:app\n"
           "  variantctl index annotate --label cuda12.8=cuda --dry-run oci:images:app\n"};

static int finish_edit(struct edit *e, struct ocv_error *err)
{
    OCV_TRY(edit_annotations(e, err));
    if (e->relayout)
        OCV_TRY(ocv_edit_relayout(e->build.document, err));
    return build_finish(&e->build, err);
}

static int run_add(struct edit *e, char **arguments, struct ocv_error *err)
{
    OCV_TRY(edit_items(e, arguments + 1, err));
    OCV_TRY(build_begin(&e->build, arguments[0], true, err));
    if (e->build.replace) {
        /* A rebuilt image keeps the properties of the entry it replaces, unless others are given.
         */
        for (size_t i = 0; i < e->build.n_items; i++) {
            struct item *item = &e->build.items[i];
            if (item->label && strcmp(item->label, "null") != 0 && !item->properties)
                OCV_TRY(
                    ocv_edit_properties(e->build.document, item->label, &item->properties, err));
        }
    }
    OCV_TRY(build_read(&e->build, err));
    return finish_edit(e, err);
}

static int run_remove(struct edit *e, char **arguments, struct ocv_error *err)
{
    int status = build_begin(&e->build, arguments[0], true, err);
    if (status < 0)
        return status;
    if (e->ordinary)
        status = ocv_edit_remove(e->build.document, NULL, e->platform, err);
    for (size_t i = 1; arguments[i] && status == OCV_OK; i++)
        status = ocv_edit_remove(e->build.document, arguments[i], e->platform, err);
    return status < 0 ? ocv_error_prefix(err, "%s", arguments[0]) : finish_edit(e, err);
}

/* Those of `a` that `b` has not, as the end of a list. */
static int append_without(const struct ocv_properties *a, const struct ocv_properties *b,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < ocv_properties_count(a); i++) {
        struct ocv_property p = ocv_properties_get(a, i);
        if (!edit_has_property(b, p))
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s :: %s :: %s", out->len ? ", " : "", p.ns,
                                      p.feature, p.value));
    }
    return OCV_OK;
}

/* LABEL+=PROPERTY and LABEL-=PROPERTY: `*set` becomes what the entry has with or without it. */
static int change_properties(const struct edit *e, const char *label, bool add,
                             struct ocv_properties **set, struct ocv_error *err)
{
    ocv_auto(ocv_properties) now = NULL;
    ocv_auto(ocv_properties) none = NULL;
    ocv_auto(ocv_properties) given = *set;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 2 * OCV_ENTRY_PROPERTIES_BYTES_MAX);
    *set = NULL;
    OCV_TRY(ocv_edit_properties(e->build.document, label, &now, err));
    for (size_t i = 0; !add && i < ocv_properties_count(given); i++) {
        struct ocv_property p = ocv_properties_get(given, i);
        if (!edit_has_property(now, p))
            return ocv_error_set(err, OCV_ERR_DATA, "it has no %s :: %s :: %s", p.ns, p.feature,
                                 p.value);
    }
    OCV_TRY(append_without(now, given, &text, err));
    if (add) {
        OCV_TRY(ocv_properties_parse("", 0, &none, err));
        OCV_TRY(append_without(given, none, &text, err));
    }
    return ocv_properties_parse(text.data ? text.data : "", text.len, set, err);
}

/* WHICH=TEXT; neither a digest nor a label contains '=', '+' or '-'. */
static int annotate_one(struct edit *e, const char *text, bool label, struct ocv_error *err)
{
    ocv_auto(ocv_properties) properties = NULL;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not LABEL=%s", text,
                             label ? "LABEL" : "PROPERTY[,...]");
    char change = !label && equals - text > 1 && strchr("+-", equals[-1]) ? equals[-1] : '=';
    ocv_auto_free char *which = strndup(text, (size_t)(equals - text) - (change != '='));
    if (!which)
        return ocv_error_nomem(err);
    int status =
        label ? OCV_OK : ocv_properties_parse(equals + 1, strlen(equals + 1), &properties, err);
    if (status == OCV_OK && change != '=')
        status = change_properties(e, which, change == '+', &properties, err);
    /* An unlabelled image must get label and properties together; otherwise it would become a
     * second default in between. So the --label for the same entries is done here. */
    const char *named = label ? equals + 1 : NULL;
    for (size_t i = 0, len = strlen(which); i < e->labels.n && !named; i++) {
        const char *other = e->labels.texts[i];
        if (!other || strncmp(other, which, len) != 0 || other[len] != '=')
            continue;
        e->labels.texts[i] = NULL;
        named = other + len + 1;
    }
    if (status == OCV_OK)
        status = ocv_edit_annotate(e->build.document, which, e->platform, named, properties, err);
    if (status < 0 && status != OCV_ERR_NOT_FOUND)
        ocv_error_prefix(err, "%s", which);
    return status;
}

static int run_annotate(struct edit *e, char **arguments, struct ocv_error *err)
{
    int status = build_begin(&e->build, arguments[0], true, err);
    for (size_t i = 1; arguments[i] && status == OCV_OK; i++)
        status = annotate_one(e, arguments[i], false, err);
    for (size_t i = 0; i < e->labels.n && status == OCV_OK; i++)
        if (e->labels.texts[i])
            status = annotate_one(e, e->labels.texts[i], true, err);
    if (status == OCV_ERR_NOT_FOUND)
        ocv_error_prefix(err, "%s", arguments[0]);
    return status == OCV_OK ? finish_edit(e, err) : status;
}

int cmd_index_edit(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        const struct cli_command *command;
        int (*run)(struct edit *e, char **arguments, struct ocv_error *err);
    } verbs[] = {{"add", &add_command, run_add},
                 {"remove", &remove_command, run_remove},
                 {"rm", &remove_command, run_remove},
                 {"annotate", &annotate_command, run_annotate}};
    __attribute__((cleanup(edit_free))) struct edit e = {.build = {.cli = cli}};
    size_t v = 0;
    while (v + 1 < sizeof(verbs) / sizeof(*verbs) && strcmp(verbs[v].name, argv[0]) != 0)
        v++;
    int code = cli_read(cli, verbs[v].command, &e, argc, argv);
    if (code >= 0)
        return code;
    bool nothing = cli->n_arguments < 2 && !e.defaults.n && !e.ordinary && !e.labels.n &&
                   !e.annotations.n && !e.relayout;
    if (nothing)
        return ocv_error_set(&cli->err, OCV_ERR_INVALID, "%s: give %s", cli->verb,
                             verbs[v].command->arguments.what);
    return verbs[v].run(&e, cli->arguments, &cli->err);
}
