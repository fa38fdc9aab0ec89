/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl tags plan: the variant sets that a repository's tags form, and the tags left out. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/tags/tags_verbs.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/tags/tags.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plan_options {
    const char *tags_file, *wanted, *rules;
    bool json;
    const struct ocv_reference *reference;
    struct rules_tags *tags;
    struct ocv_error *err;
};

static const struct ocv_option options[] = {
    {.name = "tags-file",
     .value = "FILE",
     .help = "these tags, one a line ('-': standard input)",
     OCV_OPTION_TEXT(struct plan_options, tags_file)},
    {.name = "rules",
     .value = "FILE|DIR",
     .help = "more tag rules",
     OCV_OPTION_TEXT(struct plan_options, rules)},
    CLI_FORMAT(struct plan_options, json, "default: text on a terminal, else JSON"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl tags plan [OPTIONS] REPOSITORY[:TAG]\n"
             "\n"
             "List the repository's tags, and show the variant sets that the rules of this\n"
             "machine form from them, and what is left out; with TAG only that set.\n"
             "Exit 0: shown; 4: the rules cannot tell tags of a set apart.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"one REPOSITORY[:TAG]", 1, 1, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl tags plan --rules rules.yaml registry.example/app\n"
           "  variantctl tags plan --tags-file tags.txt pytorch/pytorch\n"
           "  variantctl tags plan --json --tags-file tags.txt pytorch/pytorch:2.8.0\n"};

static int format_table(const struct plan_options *r, const char *family,
                        const struct ocv_tag_plan *plan, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    size_t left = ocv_tag_plan_left_out(plan);
    if (!family)
        return ocv_buffer_printf(out, err, "%s  no tag rule knows it, %zu tag%s\n",
                                 r->reference->name, r->tags->n, r->tags->n == 1 ? "" : "s");
    OCV_TRY(ocv_buffer_printf(out, err, "%s  family %s, %zu tags\n", r->reference->name, family,
                              r->tags->n));
    for (size_t set = 0; set < ocv_tag_plan_sets(plan); set++) {
        const char *const *doubts;
        size_t n = ocv_tag_plan_doubts(plan, set, &doubts);
        OCV_TRY(ocv_buffer_printf(out, err, "\n%s\n", ocv_tag_plan_name(plan, set)));
        for (size_t i = 0; i < ocv_tag_plan_members(plan, set); i++) {
            const char *label;
            const struct ocv_tag *tag = ocv_tag_plan_member(plan, set, i, &label);
            const char *platform = ocv_tag_platform(tag);
            OCV_TRY(ocv_buffer_printf(out, err, "  %-32s  %-12s  ", ocv_tag_text(tag),
                                      platform ? platform : "-"));
            OCV_TRY(tags_format_properties(tag, out, err));
            OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
        }
        for (size_t i = 0; i < n; i++)
            OCV_TRY(ocv_buffer_printf(out, err, "  not told apart: %s\n", doubts[i]));
    }
    if (left)
        OCV_TRY(ocv_buffer_printf(out, err,
                                  "\n"
                                  "Left out\n"));
    for (size_t i = 0; i < left; i++) {
        const char *reason;
        const struct ocv_tag *tag = ocv_tag_plan_left(plan, i, &reason);
        OCV_TRY(ocv_buffer_printf(out, err, "  %-32s  %s\n", ocv_tag_text(tag), reason));
    }
    return OCV_OK;
}

static int format_json(const struct plan_options *r, const char *family,
                       const struct ocv_tag_plan *plan, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    json_t *sets = json_array(), *left = json_array();
    const char *reason;
    for (size_t set = 0; set < ocv_tag_plan_sets(plan); set++) {
        json_t *members = json_array(), *list = json_array();
        const char *const *doubts, *label;
        size_t n = ocv_tag_plan_doubts(plan, set, &doubts);
        for (size_t i = 0; i < ocv_tag_plan_members(plan, set); i++) {
            const struct ocv_tag *tag = ocv_tag_plan_member(plan, set, i, &label);
            json_t *properties = json_array();
            for (size_t k = 0; k < ocv_properties_count(ocv_tag_properties(tag)); k++) {
                struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), k);
                json_array_append_new(properties,
                                      json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
            }
            json_array_append_new(members,
                                  json_pack("{s:s, s:s, s:o, s:s?}", "tag", ocv_tag_text(tag),
                                            "label", label, "properties", properties, "platform",
                                            ocv_tag_platform(tag)));
        }
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, json_string(doubts[i]));
        json_array_append_new(sets,
                              json_pack("{s:s, s:o, s:o}", "name", ocv_tag_plan_name(plan, set),
                                        "members", members, "doubts", list));
    }
    for (size_t i = 0; i < ocv_tag_plan_left_out(plan); i++) {
        const struct ocv_tag *tag = ocv_tag_plan_left(plan, i, &reason);
        json_array_append_new(left,
                              json_pack("{s:s, s:s}", "tag", ocv_tag_text(tag), "reason", reason));
    }
    return format_document(json_pack("{s:s, s:s, s:s?, s:o, s:o}", "schema",
                                     "dev.ocivariant.tag-plan/v1", "repository", r->reference->name,
                                     "family", family, "sets", sets, "left_out", left),
                           out, err);
}

static int add_tag(void *data, size_t line, const char *text)
{
    struct plan_options *r = data;
    if (!ocv_reference_tag_valid(text))
        return ocv_error_set(r->err, OCV_ERR_DATA, "%s:%zu: not a tag (one a line, no repository)",
                             r->tags_file, line);
    return rules_tags_add(r->tags, text, r->err);
}

#define NAMED_MAX 3u /* sets named in a hint */

/* For a repository that no rule knows: what `index create --from-tags` would make of it. */
static void hint_publisher(const struct plan_options *r, struct ocv_tag_rules *rules)
{
    ocv_auto(ocv_tag_plan) plan = NULL;
    bool added = false;
    size_t n = 0;
    if (rules_load_authoring(rules, r->reference, &added, NULL) == OCV_OK && added &&
        ocv_tag_plan_new(rules, r->reference, r->wanted, (const char *const *)r->tags->list,
                         r->tags->n, &plan, NULL) == OCV_OK)
        n = ocv_tag_plan_sets(plan);
    if (n == 0) {
        fputs("hint: --rules FILE reads rules of your own (plugins/tags.d/README.md); 'variantctl "
              "index create --from-tags' reads VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -gaudiN and "
              "-arm64 without\n",
              stderr);
        return;
    }
    /* "1.0 (of 3 tags)" for the first sets, and the command that makes an index of the first */
    const char *first = ocv_tag_plan_name(plan, 0);
    fputs("hint: vpull and variantd take such tags as they are; to a publisher they say: ", stderr);
    for (size_t i = 0; i < n && i < NAMED_MAX; i++)
        fprintf(stderr, "%s%s (of %zu tags)", i ? ", " : "", ocv_tag_plan_name(plan, i),
                ocv_tag_plan_members(plan, i));
    if (n > NAMED_MAX)
        fprintf(stderr, " and %zu more", n - NAMED_MAX);
    fprintf(stderr, ". See 'variantctl index create --dry-run --from-tags \"%s-*\" %s:%s'\n", first,
            r->reference->name, first);
}

int cmd_tags_plan(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    ocv_auto_tags tags = {0};
    ocv_auto(ocv_reference) reference = NULL;
    struct plan_options r = {.tags = &tags, .err = err, .json = !isatty(STDOUT_FILENO)};
    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto_buffer out;
    ocv_buffer_init(&out, TAGS_OUTPUT_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    const char *text = *cli->arguments, *slash = strrchr(text, '/');
    OCV_TRY(ocv_reference_parse(text, &reference, err));
    r.reference = reference;
    if (strchr(slash ? slash : text, ':'))
        r.wanted = reference->tag;
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(rules_load_more(cli, r.rules, reference, &rules, err));
    OCV_TRY(ocv_tag_parse(rules, reference, NULL, &tag, err));
    if (r.tags_file) {
        OCV_TRY(tags_each_line(r.tags_file, add_tag, &r, err));
    } else {
        OCV_TRY(image_bind_credentials(cli, reference, err));
        OCV_TRY(cli_registry(cli, err));
        OCV_TRY(rules_list_tags(cli, reference, &tags, err));
    }
    OCV_TRY(ocv_tag_plan_new(rules, reference, r.wanted, (const char *const *)tags.list, tags.n,
                             &plan, err));
    OCV_TRY((r.json ? format_json : format_table)(&r, ocv_tag_family(tag), plan, &out, err));
    OCV_TRY(cli_print(out.data, out.len, err));
    if (!ocv_tag_family(tag))
        hint_publisher(&r, rules);
    if (r.wanted && ocv_tag_plan_sets(plan) == 0)
        cli_warn(cli, "the tags form no set named %s", r.wanted);
    size_t doubtful = 0;
    for (size_t i = 0; i < ocv_tag_plan_sets(plan); i++)
        doubtful += ocv_tag_plan_doubts(plan, i, NULL) > 0;
    if (doubtful == 0)
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_DATA, "%s: the rules cannot tell tags of %zu set%s apart",
                         reference->name, doubtful, doubtful == 1 ? "" : "s");
}
