/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "schema/generate/generate.h"

#include "lib/base/file.h"
#include "ocivariant/buffer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_types[] = {"counter", "gauge", "histogram", NULL};

static node find_label(const char *name)
{
    for (node label = need_list(document, "labels")->first; label; label = label->next)
        if (strcmp(need(label, "label"), name) == 0)
            return label;
    return NULL;
}

/* At most two labels, each of which is described. */
static size_t metric_labels(node metric, char names[2][64])
{
    const char *text = ocv_yaml_text(metric, "labels");
    char more;
    int n = text ? sscanf(text, "%63s %63s %c", names[0], names[1], &more) : 0;
    if (n > 2)
        fail(metric, "more than two labels");
    for (int i = 0; i < n; i++)
        if (!find_label(names[i]))
            fail(metric, "no such label: %s", names[i]);
    return n > 0 ? (size_t)n : 0;
}

static void print_metric(node metric)
{
    const char *name = need(metric, "name");
    print_upper(name + (strncmp(name, "variantd_", 9) == 0 ? 9 : 0));
}

void daemon_metrics(void)
{
    node metrics = need_list(document, "metrics"), label = find_label("outcome");
    node outcomes = need_list(label, "values");
    head("OCV_DAEMON_METRICS_H");
    printf("enum metric {\n");
    for (node metric = metrics->first; metric; metric = metric->next) {
        for (node other = metrics->first; other != metric; other = other->next)
            if (strcmp(need(other, "name"), need(metric, "name")) == 0)
                fail(metric, "%s is there twice", need(metric, "name"));
        printf("    METRIC_");
        print_metric(metric);
        printf(",\n");
    }
    printf("    METRIC_COUNT\n};\n\n/** How a request on the mirror ended. */\nenum outcome {\n");
    for (node outcome = outcomes->first; outcome; outcome = outcome->next) {
        printf("    OUTCOME_");
        print_upper(outcome->key);
        printf(", /**< %s */\n", outcome->text);
    }
    printf("    OUTCOME_COUNT\n};\n\n#define METRIC_TABLE \\\n");
    for (node metric = metrics->first; metric; metric = metric->next) {
        char names[2][64];
        size_t n = metric_labels(metric, names);
        need_word(metric, "type", metric_types);
        printf("    [METRIC_");
        print_metric(metric);
        printf("] = {\"%s\", \"%s\", {", need(metric, "name"), need(metric, "type"));
        for (size_t i = 0; i < 2; i++) {
            printf(i ? ", " : "");
            print_string(i < n ? names[i] : NULL);
        }
        printf("}, ");
        print_string(need(metric, "help"));
        printf("},%s\n", metric->next ? " \\" : "");
    }
    printf("\n#define OUTCOME_TABLE \\\n");
    for (node outcome = outcomes->first; outcome; outcome = outcome->next) {
        printf("    [OUTCOME_");
        print_upper(outcome->key);
        printf("] = \"%s\",%s\n", outcome->key, outcome->next ? " \\" : "");
    }
}

/* A page begins with what is in a file of its own, less the licence's line. */
static void print_page_head(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    FILE *intro = fopen(path, "re");
    if (!intro)
        fail(NULL, "%s cannot be read", path);
    printf("<!-- Generated from %s by schema/generate. -->\n", source);
    while (getline(&line, &size, intro) > 0)
        if (strncmp(line, "<!-- SPDX", 9) != 0)
            fputs(line, stdout);
    free(line);
    fclose(intro);
}

void metrics_page(void)
{
    print_page_head("schema/daemon-metrics-intro.md");
    printf("\n## Metrics\n\n| name | type | labels | |\n|---|---|---|---|\n");
    for (node metric = need_list(document, "metrics")->first; metric; metric = metric->next) {
        char names[2][64];
        size_t n = metric_labels(metric, names);
        printf("| `%s` | %s | ", need(metric, "name"), need(metric, "type"));
        for (size_t i = 0; i < n; i++)
            printf("%s`%s`", i ? ", " : "", names[i]);
        printf(" | %s |\n", need(metric, "help"));
    }
    printf("\n## Labels\n");
    for (node label = need_list(document, "labels")->first; label; label = label->next) {
        const char *name = need(label, "label"), *free_text = ocv_yaml_text(label, "free");
        if (free_text)
            printf("\n**`%s`**: %s.\n", name, free_text);
        node values = ocv_yaml_get(label, "values");
        if (values)
            printf("\n**`%s`**:\n\n| value | |\n|---|---|\n", name);
        for (node value = values ? values->first : NULL; value; value = value->next)
            printf("| `%s` | %s |\n", value->key, value->text);
    }
}

static const char *const lint_levels[] = {"error", "warning", "note", "off", NULL};
static const char *const lint_fixes[] = {"write", "command", "no", NULL};

static bool is_word_at(const char *text, const char *at, size_t n)
{
    return (at == text || !(isupper((unsigned char)at[-1]) || at[-1] == '_')) &&
           !(isupper((unsigned char)at[n]) || at[n] == '_');
}

/* Does the rule's check name it? */
static void check_named(node rule, const char *word)
{
    char path[256];
    ocv_auto_buffer text;
    bool named = false;
    snprintf(path, sizeof(path), "lib/internal/lint/checks/%s.c", need(rule, "check"));
    ocv_buffer_init(&text, 1 << 20);
    if (ocv_file_read(path, OCV_FILE_ANY, &text, NULL) < 0 || !text.data)
        fail(rule, "%s cannot be read", path);
    for (const char *at = text.data; !named && (at = strstr(at, word)); at++)
        named = is_word_at(text.data, at, strlen(word));
    if (!named)
        fail(rule, "%s does not name %s", path, word);
}

/* An example, a string of C for each line, with what continues a macro between them. */
static void print_example(node rule, const char *key)
{
    for (const char *line = need(rule, key); *line;) {
        int n = (int)strcspn(line, "\n");
        if (memchr(line, '"', (size_t)n) || memchr(line, '\\', (size_t)n))
            fail(rule, "an example needs no \" and no backslash: %.*s", n, line);
        printf(" \\\n        \"%.*s\\n\"", n, line);
        line += n + (line[n] == '\n');
    }
}

void lint_rules(void)
{
    const char *last = "";
    node rules = need_list(document, "rules");
    head("OCV_LINT_RULES_H");
    printf("enum ocv_lint_id {\n");
    for (node rule = rules->first; rule; rule = rule->next) {
        char word[128];
        const char *id = need(rule, "id");
        if (strcmp(last, id) >= 0 || strncmp(id, "OCV", 3) != 0 || strlen(id) != 6)
            fail(rule, "bad id, or not in order: %s", id);
        last = id;
        snprintf(word, sizeof(word), "OCV_LINT_%s", need(rule, "name"));
        for (char *c = word; *c; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        check_named(rule, word);
        printf("    %s, /* %s */\n", word, id);
    }
    printf("    OCV_LINT_RULES\n};\n\n#define OCV_LINT_RULE_TABLE \\\n");
    for (node rule = rules->first; rule; rule = rule->next) {
        printf("    {\"%s\", \"%s\", OCV_LINT_%s", need(rule, "id"), need(rule, "name"),
               need_word(rule, "level", lint_levels));
        printf(", OCV_LINT_FIX_%s, ", need_word(rule, "fix", lint_fixes));
        need(rule, "what");
        need(rule, "why");
        print_strings(rule, (const char *const[]){"what", "why", NULL});
        putchar(',');
        print_example(rule, "bad");
        putchar(',');
        print_example(rule, "good");
        printf("},%s\n", rule->next ? " \\" : "");
    }
}

static void print_quoted_block(node rule, const char *key)
{
    for (const char *line = need(rule, key); *line;) {
        int n = (int)strcspn(line, "\n");
        printf("    %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
}

void lint_page(void)
{
    static const char *const titles[] = {"",
                                         "OCV1xx: the index",
                                         "OCV2xx: properties",
                                         "OCV3xx: tags",
                                         "OCV4xx: image configurations",
                                         "OCV5xx: layout and older clients",
                                         "OCV6xx: signatures and attestations",
                                         "OCV7xx: code in the images' files (--deep)"};
    int group = 0;
    node rules = need_list(document, "rules");
    print_page_head("schema/lint-intro.md");
    printf("\n| rule | name | level | `--fix` |\n|---|---|---|---|\n");
    for (node rule = rules->first; rule; rule = rule->next) {
        const char *id = need(rule, "id"), *name = need(rule, "name");
        printf("| [%s](#ocv%s-%s) | %s | %s | %s |\n", id, id + 3, name, name, need(rule, "level"),
               strcmp(need(rule, "fix"), "write") == 0 ? "yes" : "");
    }
    for (node rule = rules->first; rule; rule = rule->next) {
        const char *id = need(rule, "id"), *fix = need(rule, "fix");
        if (id[3] < '1' || id[3] > '7')
            fail(rule, "no group of rules: %s", id);
        if (id[3] - '0' != group)
            printf("\n## %s\n", titles[group = id[3] - '0']);
        printf("\n### %s %s\n\n%s %s\n\nLevel: %s%s.\n\nBad:\n\n", id, need(rule, "name"),
               need(rule, "what"), need(rule, "why"), need(rule, "level"),
               strcmp(fix, "write") == 0     ? "; `--fix` corrects it"
               : strcmp(fix, "command") == 0 ? "; the finding says what to run or change"
                                             : "");
        print_quoted_block(rule, "bad");
        printf("\nGood:\n\n");
        print_quoted_block(rule, "good");
    }
}
