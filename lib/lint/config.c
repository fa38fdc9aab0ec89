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
#include "lib/base/yaml_tree.h"
#include "lib/lint/lint_internal.h"
#include "ocivariant/suggest.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define ALLOW_MAX 1000u
#define PATTERN_MAX 512u /* fnmatch recurses over it */

struct allowance {
    const struct ocv_lint_rule *rule; /* NULL: `group` */
    char group;                       /* '1' to '6' of OCV1xx */
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

static int refuse(const char *source, const struct ocv_yaml *node, const char *what,
                  const char *text, struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_CONFIG, "%s:%zu: %s%s%.100s%s", source, node->line, what,
                         text ? " '" : "", text ? text : "", text ? "'" : "");
}

/* "OCV1xx" -> '1'; '*' for all; '\0': not a group. */
static char group_of(const char *text)
{
    if (!strcmp(text, "all"))
        return '*';
    return !strncmp(text, "OCV", 3) && text[3] >= '1' && text[3] <= '6' && !strcmp(text + 4, "xx")
               ? text[3]
               : '\0';
}

static bool in_group(size_t rule, char group)
{
    return group == '*' || ocv_lint_rule(rule)->id[3] == group;
}

static int unknown_rule(const char *source, const struct ocv_yaml *node, const char *text,
                        struct ocv_error *err)
{
    struct ocv_nearest nearest = {.wanted = text};
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        ocv_nearest_offer(&nearest, ocv_lint_rule(i)->id);
        ocv_nearest_offer(&nearest, ocv_lint_rule(i)->name);
    }
    int status = refuse(source, node, "no rule or group", text, err);
    const char *meant = ocv_nearest_meant(&nearest);
    if (meant)
        ocv_error_hint(err, "did you mean %s?", meant);
    return status;
}

/* Apply `level` (OFF, or the table's own where NULL) to a rule or a group. */
static int set_levels(struct ocv_lint_config *config, const char *source,
                      const struct ocv_yaml *node, const char *text,
                      const enum ocv_lint_level *level, struct ocv_error *err)
{
    char group = group_of(text);
    const struct ocv_lint_rule *rule = ocv_lint_rule_find(text);
    if (!group && !rule)
        return unknown_rule(source, node, text, err);
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *one = ocv_lint_rule(i);
        if (group ? !in_group(i, group) : one != rule)
            continue;
        config->levels[i] = level                        ? *level
                            : one->level == OCV_LINT_OFF ? OCV_LINT_WARNING
                                                         : one->level;
    }
    return OCV_OK;
}

static int read_names(struct ocv_lint_config *config, const char *source,
                      const struct ocv_yaml *list, const enum ocv_lint_level *level,
                      struct ocv_error *err)
{
    int status = OCV_OK;
    if (list && list->type != OCV_YAML_LIST)
        return refuse(source, list, "a list of rules is expected", NULL, err);
    for (const struct ocv_yaml *item = list ? list->first : NULL; item && status == OCV_OK;
         item = item->next)
        status = item->type == OCV_YAML_SCALAR
                     ? set_levels(config, source, item, item->text, level, err)
                     : refuse(source, item, "a rule's id or name is expected", NULL, err);
    return status;
}

static int read_levels(struct ocv_lint_config *config, const char *source,
                       const struct ocv_yaml *map, struct ocv_error *err)
{
    int status = OCV_OK;
    if (map && map->type != OCV_YAML_MAP)
        return refuse(source, map, "level: RULE: error|warning|note|off is expected", NULL, err);
    for (const struct ocv_yaml *item = map ? map->first : NULL; item && status == OCV_OK;
         item = item->next) {
        enum ocv_lint_level level = OCV_LINT_OFF;
        const char *text = item->type == OCV_YAML_SCALAR ? item->text : "";
        while (level <= OCV_LINT_ERROR && strcmp(ocv_lint_level_name(level), text) != 0)
            if (level++ == OCV_LINT_ERROR)
                return refuse(source, item, "the levels are error, warning, note and off, not",
                              text, err);
        status = set_levels(config, source, item, item->key, &level, err);
    }
    return status;
}

static int read_allowance(const char *source, const struct ocv_yaml *item, struct allowance *out,
                          struct ocv_error *err)
{
    static const char *const keys[] = {"rule", "input", "label", "reason", NULL};
    if (item->type != OCV_YAML_MAP)
        return refuse(source, item, "rule: and reason: are expected", NULL, err);
    for (const struct ocv_yaml *member = item->first; member; member = member->next) {
        size_t k = 0;
        while (keys[k] && strcmp(keys[k], member->key) != 0)
            k++;
        if (!keys[k])
            return refuse(source, member, "unknown key", member->key, err);
        if (member->type != OCV_YAML_SCALAR || !*member->text)
            return refuse(source, member, "a text is expected for", member->key, err);
        if (strlen(member->text) > PATTERN_MAX)
            return refuse(source, member, "too long:", member->key, err);
    }
    const char *rule = ocv_yaml_text(item, "rule");
    out->input = ocv_yaml_text(item, "input");
    out->label = ocv_yaml_text(item, "label");
    out->reason = ocv_yaml_text(item, "reason");
    if (!rule || !out->reason)
        return refuse(source, item, rule ? "reason: is missing" : "rule: is missing", NULL, err);
    out->rule = ocv_lint_rule_find(rule);
    out->group = group_of(rule);
    return out->rule || out->group ? OCV_OK : unknown_rule(source, item, rule, err);
}

static int read_allow(struct ocv_lint_config *config, const char *source,
                      const struct ocv_yaml *list, struct ocv_error *err)
{
    int status = OCV_OK;
    if (!list)
        return OCV_OK;
    if (list->type != OCV_YAML_LIST || list->n > ALLOW_MAX)
        return refuse(source, list, "a list of at most 1,000 allowances is expected", NULL, err);
    config->allow = calloc(list->n + 1, sizeof(*config->allow));
    if (!config->allow)
        return ocv_error_nomem(err);
    for (const struct ocv_yaml *item = list->first; item && status == OCV_OK; item = item->next)
        status = read_allowance(source, item, &config->allow[config->n_allow++], err);
    return status;
}

static int read_root(struct ocv_lint_config *config, const char *source, struct ocv_error *err)
{
    static const char *const keys[] = {"enable", "disable", "level", "allow", NULL};
    static const enum ocv_lint_level off = OCV_LINT_OFF;
    const struct ocv_yaml *root = config->root;
    if (root && root->type != OCV_YAML_MAP)
        return refuse(source, root, "enable, disable, level or allow is expected", NULL, err);
    for (const struct ocv_yaml *member = root ? root->first : NULL; member; member = member->next) {
        size_t k = 0;
        while (keys[k] && strcmp(keys[k], member->key) != 0)
            k++;
        if (!keys[k])
            return refuse(source, member, "unknown key", member->key, err);
    }
    int status = read_names(config, source, ocv_yaml_get(root, "disable"), &off, err);
    if (status == OCV_OK)
        status = read_names(config, source, ocv_yaml_get(root, "enable"), NULL, err);
    if (status == OCV_OK)
        status = read_levels(config, source, ocv_yaml_get(root, "level"), err);
    if (status == OCV_OK)
        status = read_allow(config, source, ocv_yaml_get(root, "allow"), err);
    return status;
}

int ocv_lint_config_read(const char *source, const char *text, size_t len,
                         struct ocv_lint_config **out, struct ocv_error *err)
{
    struct ocv_lint_config *config = calloc(1, sizeof(*config));
    if (!config)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < OCV_LINT_RULES; i++)
        config->levels[i] = ocv_lint_rule(i)->level;
    int status = len > OCV_LINT_CONFIG_MAX
                     ? ocv_error_set(err, OCV_ERR_CONFIG, "%s: more than %u bytes", source,
                                     OCV_LINT_CONFIG_MAX)
                     : ocv_yaml_read(source, text, len, &config->root, err);
    if (status == OCV_OK)
        status = read_root(config, source, err);
    if (status < 0)
        ocv_lint_config_free(config);
    else
        *out = config;
    return status;
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
        if (a->rule ? a->rule != rule : a->group != '*' && a->group != rule->id[3])
            continue;
        if (a->input && fnmatch(a->input, input, 0) != 0)
            continue;
        if (a->label && (!label || fnmatch(a->label, label, 0) != 0))
            continue;
        return a->reason;
    }
    return NULL;
}
