/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl tags parse, variantctl tags check */
#include "cmd/variantctl/tags/tags_verbs.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct parse {
    struct cli *cli;
    struct ocv_tag_rules *rules;
    const char *more; /* --rules */
    bool json, strict;
    size_t doubts; /* references that --strict refuses */
    int code;      /* of the first failure */
    struct ocv_buffer out;
    struct ocv_error *err;
};

static const struct ocv_option parse_options[] = {
    CLI_FORMAT(struct parse, json, "on a terminal text, else one JSON object a line"),
    {.name = "rules",
     .value = "FILE|DIR",
     .help = "more tag rules",
     OCV_OPTION_TEXT(struct parse, more)},
    {.name = "strict", .help = "doubts are an error", OCV_OPTION_FLAG(struct parse, strict)},
    OCV_OPTIONS_END};

static const struct cli_command parse_command = {
    .usage = "Usage: variantctl tags parse [OPTIONS] REFERENCE... | -\n"
             "\n"
             "Show what tags mean by the rules of this machine; '-' reads a list, one a line.\n"
             "Exit 0: all were read; 4: one of the list is not a reference; 5: --strict, and\n"
             "one has no family, or an unknown or ambiguous part.\n",
    .options = parse_options,
    .arguments = {"a REFERENCE", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl tags parse pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\n"
           "  variantctl tags parse --format text vllm/vllm-openai:v0.10.0\n"
           "  variantctl tags parse --rules rules.yaml - <tags.txt\n"};

static const struct cli_command check_command = {
    .usage = "Usage: variantctl tags check FILE...\n"
             "\n"
             "Read rule files on top of the rules of this machine.\n"
             "Exit 0: they are rule files; 4: FILE:LINE of what is wrong.\n",
    .arguments = {"a FILE", 1, CLI_MANY, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl tags check rules.yaml\n"
           "  variantctl tags check rules.yaml more.yaml\n"
           "  variantctl tags check - <rules.yaml\n"};

static int format_table(const struct ocv_tag *tag, struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const names[] = {"ignored", "unknown", "ambiguous"};
    const char *family = ocv_tag_family(tag), *key, *value;
    OCV_TRY(ocv_buffer_printf(out, err, "%s\n  family: %s\n  properties: ", ocv_tag_reference(tag),
                              family ? family : "none"));
    OCV_TRY(tags_format_properties(tag, out, err));
    if (ocv_tag_platform(tag))
        OCV_TRY(ocv_buffer_printf(out, err, "\n  platform: %s", ocv_tag_platform(tag)));
    for (size_t i = 0; ocv_tag_group(tag, i, &key, &value); i++)
        OCV_TRY(ocv_buffer_printf(out, err, "%s %s=%s", i ? "" : "\n  group:", key, value));
    for (int which = OCV_TAG_IGNORED; which <= OCV_TAG_AMBIGUOUS; which++) {
        const char *const *list;
        size_t n = ocv_tag_list(tag, (enum ocv_tag_list)which, &list);
        if (n)
            OCV_TRY(ocv_buffer_printf(out, err, "\n  %s:", names[which]));
        for (size_t i = 0; i < n; i++)
            OCV_TRY(ocv_buffer_printf(out, err, "%s %s", i ? "," : "", list[i]));
    }
    for (size_t i = 0; ocv_tag_asks(tag, i); i++)
        OCV_TRY(
            ocv_buffer_printf(out, err, "\n  asks its configuration: %s", ocv_tag_asks(tag, i)));
    if (ocv_tag_refused(tag))
        OCV_TRY(ocv_buffer_printf(out, err, "\n  %s: %s",
                                  ocv_tag_asks(tag, 0) ? "no variant else" : "no variant",
                                  ocv_tag_refused(tag)));
    return OCV_OK;
}

static int parse_one(struct parse *p, const char *text)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    OCV_TRY(ocv_reference_parse(text, &reference, p->err));
    if (reference->digest && !reference->tag)
        return ocv_error_set(p->err, OCV_ERR_INVALID, "%s: a digest has no tag to parse", text);
    OCV_TRY(ocv_tag_parse(p->rules, reference, NULL, &tag, p->err));
    p->doubts += !ocv_tag_family(tag) || ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL) ||
                 ocv_tag_list(tag, OCV_TAG_AMBIGUOUS, NULL);
    OCV_TRY(p->json ? ocv_tag_format_json(tag, &p->out, p->err)
                    : format_table(tag, &p->out, p->err));
    return ocv_buffer_append(&p->out, "\n", 1, p->err);
}

/* A bad line is reported and skipped; the others are still useful. */
static int parse_line(void *data, size_t line, const char *text)
{
    struct parse *p = data;
    *p->err = (struct ocv_error){0};
    int status = parse_one(p, text);
    if (status != OCV_ERR_INVALID)
        return status;
    ocv_error_prefix(p->err, "line %zu", line);
    p->err->status = OCV_ERR_DATA;
    int code = cli_fail(p->cli, p->err);
    p->code = p->code ? p->code : code;
    return OCV_OK;
}

static int parse_all(struct parse *p, char **references)
{
    ocv_auto(ocv_reference) only = NULL;
    bool one = !references[1] && strcmp(references[0], "-") != 0;
    OCV_TRY(cli_load(p->cli, p->err)); /* for mirror_of of registries */
    if (one)
        OCV_TRY(ocv_reference_parse(references[0], &only, p->err));
    OCV_TRY(rules_load_more(p->cli, p->more, only, &p->rules, p->err));
    for (; *references; references++)
        OCV_TRY(strcmp(*references, "-") == 0 ? tags_each_line("-", parse_line, p, p->err)
                                              : parse_one(p, *references));
    return OCV_OK;
}

static int check_file(struct cli *cli, const char *path, struct ocv_error *err)
{
    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1024u * 1024);
    OCV_TRY(cli_read_file(path, &text, err));
    /* for the notations in the file */
    OCV_TRY(rules_load(cli, NULL, &rules, err));
    return ocv_tag_rules_add(rules, path, text.data ? text.data : "", text.len, NULL, err);
}

int cmd_tags_parse(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct parse p = {.cli = cli, .err = &err, .json = !isatty(STDOUT_FILENO)};
    int code = cli_read(cli, &parse_command, &p, argc, argv);
    if (code >= 0)
        return code;
    ocv_buffer_init(&p.out, TAGS_OUTPUT_MAX);
    int status = parse_all(&p, cli->arguments);
    struct ocv_error failure = {0};
    int printed = cli_print(p.out.data ? p.out.data : "", p.out.len, &failure);
    if (status == OCV_OK && printed < 0) {
        err = failure;
        status = printed;
    }
    if (status == OCV_OK && p.strict && p.doubts)
        status = ocv_error_set(&err, OCV_ERR_CHECK, "%zu tag%s not read in full", p.doubts,
                               p.doubts == 1 ? " is" : "s are");
    ocv_buffer_free(&p.out);
    ocv_tag_rules_free(p.rules);
    code = status < 0 ? cli_fail(cli, &err) : 0;
    return p.code ? p.code : code;
}

int cmd_tags_check(struct cli *cli, int argc, char **argv)
{
    struct ocv_error wrong = {0};
    int code = cli_read(cli, &check_command, NULL, argc, argv);
    if (code >= 0)
        return code;
    if (cli_load(cli, &wrong) < 0)
        return cli_fail(cli, &wrong);
    for (char **path = cli->arguments; *path; path++) {
        struct ocv_error err = {0};
        int now = check_file(cli, *path, &err) < 0 ? cli_fail(cli, &err) : 0;
        code = code > 0 ? code : now;
    }
    return code;
}
