/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an index, the image configuration of all its entries, its manifest and a list of
 * tags, separated by NUL; what lint finds has places inside of the text, every format takes it, and
 * a correction reads as an index and needs no other. */
#include "lib/internal/lint/lint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TAGS 32
#define CHILDREN 64

struct parts {
    const char *text[4]; /* index, configuration, manifest, tags */
    size_t len[4];
};

static void split(const uint8_t *data, size_t size, struct parts *p)
{
    for (int i = 0; i < 4; i++) {
        const uint8_t *end = memchr(data, 0, size);
        p->text[i] = (const char *)data;
        p->len[i] = end && i < 3 ? (size_t)(end - data) : size;
        size_t used = p->len[i] + (end && i < 3);
        data += used;
        size -= used;
    }
}

static json_t *object(const char *text, size_t len)
{
    json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

static size_t read_tags(const char *text, size_t len, struct ocv_lint_tag *tags,
                        struct ocv_reference **references)
{
    size_t n = 0;
    char line[256];
    while (len && n < TAGS) {
        const char *end = memchr(text, '\n', len);
        size_t used = end ? (size_t)(end - text) : len;
        size_t take = used < sizeof(line) - 1 ? used : sizeof(line) - 1;
        memcpy(line, text, take);
        line[take] = '\0';
        if (ocv_reference_parse(line, &references[n], NULL) == OCV_OK) {
            tags[n] = (struct ocv_lint_tag){.reference = references[n], .line = n + 1};
            n++;
        }
        used += end != NULL;
        text += used;
        len -= used;
    }
    return n;
}

static void check(const struct ocv_lint_report *report, const struct ocv_lint_input *input)
{
    size_t lines = 1;
    for (size_t i = 0; i < input->len; i++)
        lines += ((const char *)input->bytes)[i] == '\n';
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        if (!f->message[0] || (f->pointer && f->line > lines))
            __builtin_trap();
    }
    for (int how = OCV_LINT_FORMAT_TEXT; how <= OCV_LINT_FORMAT_GITHUB; how++) {
        struct ocv_buffer out;
        ocv_buffer_init(&out, 256u * 1024 * 1024);
        if (ocv_lint_format(report, (enum ocv_lint_format)how, NULL, 0, &out, NULL) < 0)
            __builtin_trap();
        ocv_buffer_free(&out);
    }
}

/* A second correction changes nothing. If the default may change, no correction is left out. */
static void check_fix(const char *text, size_t len, bool change_default)
{
    struct ocv_buffer once, twice, moved, again;
    size_t changes = 0, more = 0;
    ocv_buffer_init(&once, OCV_LINT_INDEX_MAX);
    ocv_buffer_init(&twice, OCV_LINT_INDEX_MAX);
    ocv_buffer_init(&moved, OCV_LINT_INDEX_MAX);
    ocv_buffer_init(&again, OCV_LINT_INDEX_MAX);
    if (ocv_lint_fix(text, len, change_default, &once, &changes, NULL, &moved, NULL) == OCV_OK &&
        changes) {
        if (ocv_lint_fix(once.data, once.len, change_default, &twice, &more, NULL, &again, NULL) <
                0 ||
            more)
            __builtin_trap();
        if (change_default && again.len)
            __builtin_trap();
    }
    ocv_buffer_free(&once);
    ocv_buffer_free(&twice);
    ocv_buffer_free(&moved);
    ocv_buffer_free(&again);
}

/* The same for an index before it is written, and for one that a YAML file describes in part. */
static void check_draft(struct ocv_lint_input input)
{
    static const struct ocv_lint_options options;
    for (int yaml = 0; yaml < 2; yaml++) {
        struct ocv_lint_report report = {0};
        input.draft = true;
        input.yaml = input.partial = yaml;
        if (ocv_lint_run(&input, &options, &report, NULL) == OCV_OK)
            check(&report, &input);
        for (size_t i = 0; i < report.n; i++)
            if (report.findings[i].hint && !*report.findings[i].hint)
                __builtin_trap();
        ocv_lint_report_free(&report);
    }
}

/* Such a file itself: each of its findings has a line. */
static void check_source(const char *text, size_t len)
{
    static const struct ocv_lint_options options;
    struct ocv_edit_source *source = NULL;
    struct ocv_lint_report report = {0};
    if (ocv_edit_source_parse("fuzz", text, len, &source, NULL) == OCV_OK &&
        ocv_lint_run_source("fuzz", source, &options, &report, NULL) == OCV_OK)
        for (size_t i = 0; i < report.n; i++)
            if (report.findings[i].line == 0)
                __builtin_trap();
    ocv_lint_report_free(&report);
    ocv_edit_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ocv_lint_options options;
    struct parts p;
    struct ocv_lint_child children[CHILDREN];
    struct ocv_lint_tag tags[TAGS];
    struct ocv_reference *references[TAGS] = {NULL};
    struct ocv_lint_report report = {0};
    split(data, size, &p);
    json_t *config = object(p.text[1], p.len[1]), *manifest = object(p.text[2], p.len[2]);
    for (size_t i = 0; i < CHILDREN; i++)
        children[i] = (struct ocv_lint_child){
            .state = OCV_LINT_STATE_READ, .config = config, .manifest = manifest};
    struct ocv_lint_input input = {.name = "fuzz",
                                   .file = true,
                                   .bytes = p.text[0],
                                   .len = p.len[0],
                                   .children = children,
                                   .n_children = CHILDREN,
                                   .tags = tags,
                                   .n_tags = read_tags(p.text[3], p.len[3], tags, references)};
    if (ocv_lint_run(&input, &options, &report, NULL) == OCV_OK) {
        check(&report, &input);
        check_fix(p.text[0], p.len[0], false);
        check_fix(p.text[0], p.len[0], true);
        check_draft(input);
    }
    check_source(p.text[0], p.len[0]);
    ocv_lint_report_free(&report);
    for (size_t i = 0; i < input.n_tags; i++)
        ocv_reference_free(references[i]);
    json_decref(config);
    json_decref(manifest);
    return 0;
}
