/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* .ocivariant-lint.yaml: which rules run, how grave they are, and what is allowed and why.
 *
 *   enable: [OCV2xx]           disable: [OCV106, tag-part-unknown]
 *   level: {OCV501: error}
 *   allow:
 *     - rule: OCV503
 *       input: "registry.example/old*"    # glob over the input's name; optional
 *       label: cu126                      # glob over the label, or a tag; optional
 *       reason: "the fat image of 2025 stays as it is" */
#include "lib/base/cleanup.h"
#include "lib/base/format/yaml.h"
#include "lib/base/text.h"
#include "lib/internal/lint/lint_internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define ALLOW_MAX 1000u
#define PATTERN_MAX 512u /* fnmatch recurses over it */

struct allowance {
    const struct ocv_lint_rule *rule; /* NULL: `group` */
    char group;                       /* '1' to '7' of OCV1xx */
    const char *input, *label, *reason;
};

struct ocv_lint_config {
    struct ocv_yaml *root; /* keeps the texts */
    enum ocv_lint_level levels[OCV_LINT_RULES];
    struct allowance *allow;
    size_t n_allow;
};

void ocv_lint_config_free(struct ocv_lint_config *config)
{
    if (!config)
        return;
    ocv_yaml_free(config->root);
    free(config->allow);
    free(config);
}

/* "OCV1xx" -> '1'; '*' for all; '\0': not a group. */
static char group_of(const char *text)
{
    if (!strcmp(text, "all"))
        return '*';
    return !strncmp(text, "OCV", 3) && text[3] >= '1' && text[3] <= '7' && !strcmp(text + 4, "xx")
               ? text[3]
               : '\0';
}

static bool in_group(const struct ocv_lint_rule *rule, char group)
{
    return group == '*' || rule->id[3] == group;
}

static int refuse_rule(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                       const char *text)
{
    char question[OCV_NEAREST_QUESTION_MAX];
    return ocv_yaml_fail(r, node, "no rule or group '%.100s'%s", text,
                         ocv_nearest_question(ocv_lint_rule_meant(text), question));
}

static const struct ocv_yaml_rule rule_name = {
    .takes = OCV_TAKES_TEXT, .wanted = "the id or name of a rule, a group, or all"};
static const struct ocv_yaml_rule rule_names = {.takes = OCV_TAKES_LIST, .item = &rule_name};
static const char *const level_words[] = {"error", "warning", "note", "off", NULL};
static const struct ocv_yaml_rule level = {.takes = OCV_TAKES_TEXT, .words = level_words};
static const struct ocv_yaml_rule levels = {.takes = OCV_TAKES_MAP, .each = &level};
static const struct ocv_yaml_rule text = {.takes = OCV_TAKES_TEXT, .len_max = PATTERN_MAX};
static const struct ocv_yaml_key allowance_keys[] = {{"rule", &rule_name, true},
                                                     {"input", &text, false},
                                                     {"label", &text, false},
                                                     {"reason", &text, true}};
static const struct ocv_yaml_table allowance_table = {"an allowance",
                                                      OCV_YAML_KEYS(allowance_keys)};
static const struct ocv_yaml_rule allowance = {.takes = OCV_TAKES_MAP, .table = &allowance_table};
static const struct ocv_yaml_rule allowances = {
    .takes = OCV_TAKES_LIST, .max = ALLOW_MAX, .item = &allowance};
static const struct ocv_yaml_key keys[] = {{"enable", &rule_names, false},
                                           {"disable", &rule_names, false},
                                           {"level", &levels, false},
                                           {"allow", &allowances, false}};
static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys)};
const struct ocv_yaml_rule ocv_lint_config_rule = {.takes = OCV_TAKES_MAP, .table = &table};

int ocv_lint_config_read(const char *source, const char *data, size_t len,
                         struct ocv_lint_config **out, struct ocv_error *err)
{
    static const char *const lists[] = {"disable", "enable", "level"};
    const struct ocv_yaml_reader r = {.source = source, .err = err};
    ocv_auto(ocv_lint_config) config = calloc(1, sizeof(*config));
    if (!config)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < OCV_LINT_RULES; i++)
        config->levels[i] = ocv_lint_rule(i)->level;
    OCV_TRY(
        ocv_yaml_load(&r, &ocv_lint_config_rule, data, len, OCV_LINT_CONFIG_MAX, &config->root));
    const struct ocv_yaml *list;
    for (size_t i = 0; i < OCV_LINT_COUNT(lists); i++) {
        list = ocv_yaml_get(config->root, lists[i]);
        for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next) {
            enum ocv_lint_level wanted = OCV_LINT_OFF;
            while (m->key && strcmp(ocv_lint_level_name(wanted), m->text) != 0)
                wanted++; /* it is one of the words */
            bool enable = !strcmp(lists[i], "enable");
            const char *name = m->key ? m->key : m->text;
            char group = group_of(name);
            const struct ocv_lint_rule *rule = ocv_lint_rule_find(name);
            if (!group && !rule)
                return refuse_rule(&r, m, name);
            for (size_t k = 0; k < OCV_LINT_RULES; k++) {
                const struct ocv_lint_rule *one = ocv_lint_rule(k);
                enum ocv_lint_level own =
                    one->level == OCV_LINT_OFF ? OCV_LINT_WARNING : one->level;
                if (group ? in_group(one, group) : one == rule)
                    config->levels[k] = enable ? own : wanted;
            }
        }
    }

    list = ocv_yaml_get(config->root, "allow");
    config->allow = calloc((list ? list->n : 0) + 1, sizeof(*config->allow));
    if (!config->allow)
        return ocv_error_nomem(err);
    for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next) {
        const char *rule = ocv_yaml_text(m, "rule");
        struct allowance *one = &config->allow[config->n_allow++];
        *one =
            (struct allowance){ocv_lint_rule_find(rule), group_of(rule), ocv_yaml_text(m, "input"),
                               ocv_yaml_text(m, "label"), ocv_yaml_text(m, "reason")};
        if (!one->rule && !one->group)
            return refuse_rule(&r, m, rule);
    }
    *out = ocv_steal(&config);
    return OCV_OK;
}

enum ocv_lint_level ocv_lint_config_level(const struct ocv_lint_config *config,
                                          const struct ocv_lint_rule *rule)
{
    return config ? config->levels[rule - ocv_lint_rule(0)] : rule->level;
}

const char *ocv_lint_config_allowed(const struct ocv_lint_config *config,
                                    const struct ocv_lint_rule *rule, const char *input,
                                    const char *label)
{
    for (size_t i = 0; config && i < config->n_allow; i++) {
        const struct allowance *a = &config->allow[i];
        if (a->rule ? a->rule != rule : !in_group(rule, a->group))
            continue;
        if (a->input && fnmatch(a->input, input, 0) != 0)
            continue;
        if (a->label && (!label || fnmatch(a->label, label, 0) != 0))
            continue;
        return a->reason;
    }
    return NULL;
}
