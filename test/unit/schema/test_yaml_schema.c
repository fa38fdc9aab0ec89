/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that YAML files are checked against (lib/base/format/yaml.h) and the JSON
 * schemas that editors read say the same: keys, which of them are required, kinds of values, words
 * and numbers of members, both ways, all the way down. */
#include "lib/base/format/yaml.h"
#include "lib/internal/config/config_internal.h"
#include "lib/internal/edit/edit_internal.h"
#include "lib/internal/lint/lint_internal.h"
#include "lib/internal/tags/rules/read.h"
#include "lib/probe/declarative/declarative.h"
#include "test/unit/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALTERNATIVES_MAX 8

struct place {
    json_t *root;
    char path[512]; /* for messages */
};

/* One value's schema: $ref followed, the alternatives of oneOf and anyOf side by side. */
struct value {
    json_t *list[ALTERNATIVES_MAX];
    size_t n;
};

static void compare(struct place *at, const struct ocv_yaml_rule *rule, json_t *schema);

static json_t *follow(const struct place *at, json_t *schema)
{
    const char *ref;
    while ((ref = json_string_value(json_object_get(schema, "$ref")))) {
        ck_assert_msg(!strncmp(ref, "#/$defs/", 8), "%s: %s", at->path, ref);
        schema = json_object_get(json_object_get(at->root, "$defs"), ref + 8);
        ck_assert_msg(schema != NULL, "%s: %s", at->path, ref);
    }
    return schema;
}

static bool says_what_it_is(json_t *schema)
{
    return json_object_get(schema, "type") || json_object_get(schema, "enum") ||
           json_object_get(schema, "const");
}

static void collect(const struct place *at, json_t *schema, struct value *out)
{
    static const char *const choices[] = {"oneOf", "anyOf"};
    size_t i;
    json_t *one;
    schema = follow(at, schema);
    if (says_what_it_is(schema)) {
        ck_assert_uint_lt(out->n, ALTERNATIVES_MAX);
        out->list[out->n++] = schema;
        return;
    }
    for (size_t k = 0; k < 2; k++)
        json_array_foreach(json_object_get(schema, choices[k]), i, one) collect(at, one, out);
    ck_assert_msg(out->n > 0, "%s: no type", at->path);
}

static unsigned takes_of_type(const char *type)
{
    return !strcmp(type, "array")    ? OCV_TAKES_LIST
           : !strcmp(type, "object") ? OCV_TAKES_MAP
           : !strcmp(type, "null")   ? 0
                                     : OCV_TAKES_TEXT;
}

/* enum and const are of texts, or of what YAML 1.1 makes of them */
static unsigned takes_of(json_t *schema)
{
    json_t *type = json_object_get(schema, "type"), *one;
    unsigned takes = type ? 0 : OCV_TAKES_TEXT;
    size_t i;
    if (json_is_string(type))
        return takes_of_type(json_string_value(type));
    json_array_foreach(type, i, one) takes |= takes_of_type(json_string_value(one));
    return takes;
}

static json_t *part(const struct value *value, unsigned takes)
{
    for (size_t i = 0; i < value->n; i++)
        if (takes_of(value->list[i]) & takes)
            return value->list[i];
    return NULL;
}

static bool lists(const json_t *array, const char *text)
{
    size_t i;
    json_t *one;
    json_array_foreach(array, i, one) if (json_is_string(one) &&
                                          !strcmp(json_string_value(one), text)) return true;
    return false;
}

static bool in_words(const char *const *words, const char *text)
{
    for (; words && *words; words++)
        if (!strcmp(*words, text))
            return true;
    return false;
}

/* "true" of a table is true of a schema, too. */
static bool in_schema(json_t *schema, const char *word)
{
    json_t *constant = json_object_get(schema, "const");
    if (!strcmp(word, "true") && json_is_true(constant))
        return true;
    return (constant && json_is_string(constant) && !strcmp(json_string_value(constant), word)) ||
           lists(json_object_get(schema, "enum"), word);
}

static void compare_words(const struct place *at, const struct ocv_yaml_rule *rule, json_t *schema)
{
    size_t i;
    json_t *one, *list = json_object_get(schema, "enum"),
                 *constant = json_object_get(schema, "const");
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (type && !strcmp(type, "boolean")) {
        bool good = rule->good && rule->good("true") && rule->good("false");
        ck_assert_msg(good || (in_words(rule->words, "true") && in_words(rule->words, "false")),
                      "%s", at->path);
        return;
    }
    json_array_foreach(list, i, one) if (json_is_string(one) && rule->words)
        ck_assert_msg(in_words(rule->words, json_string_value(one)), "%s: the table lacks %s",
                      at->path, json_string_value(one));
    if (json_is_string(constant) && rule->words)
        ck_assert_msg(in_words(rule->words, json_string_value(constant)), "%s", at->path);
    for (i = 0; rule->words && rule->words[i]; i++)
        ck_assert_msg(in_schema(schema, rule->words[i]), "%s: the schema lacks %s", at->path,
                      rule->words[i]);
}

static void compare_number(const struct place *at, json_t *schema, const char *name, size_t number)
{
    json_int_t said = json_integer_value(json_object_get(schema, name));
    ck_assert_msg((size_t)said == number, "%s: %s is %lld here, %zu in the table", at->path, name,
                  (long long)said, number);
}

static void below(struct place *at, const char *name, const struct ocv_yaml_rule *rule,
                  json_t *schema)
{
    size_t len = strlen(at->path);
    snprintf(at->path + len, sizeof(at->path) - len, ".%s", name);
    compare(at, rule, schema);
    at->path[len] = '\0';
}

static void compare_keys(struct place *at, const struct ocv_yaml_table *table, json_t *schema)
{
    json_t *keys = json_object_get(schema, "properties"), *one;
    json_t *required = json_object_get(schema, "required");
    const char *name;
    ck_assert_msg(json_is_false(json_object_get(schema, "additionalProperties")),
                  "%s: other keys are not refused", at->path);
    json_object_foreach(keys, name, one)
    {
        size_t i = 0;
        while (i < table->n && strcmp(table->keys[i].name, name) != 0)
            i++;
        ck_assert_msg(i < table->n, "%s: the table lacks '%s'", at->path, name);
    }
    for (size_t i = 0; i < table->n; i++) {
        const struct ocv_yaml_key *key = &table->keys[i];
        one = json_object_get(keys, key->name);
        ck_assert_msg(one != NULL, "%s: the schema lacks '%s'", at->path, key->name);
        ck_assert_msg(lists(required, key->name) == key->required, "%s.%s: required", at->path,
                      key->name);
        below(at, key->name, key->rule, one);
    }
}

/* A mapping of any keys; those that the schema names besides are for its reader alone. */
static void compare_map(struct place *at, const struct ocv_yaml_rule *rule,
                        const struct value *value)
{
    const struct ocv_yaml_table *table = rule->table;
    for (size_t i = 0; i < value->n; i++) {
        json_t *schema = value->list[i];
        if (!(takes_of(schema) & OCV_TAKES_MAP))
            continue;
        if (rule->table) {
            ck_assert_msg(table != NULL, "%s: the table has fewer kinds of mappings", at->path);
            compare_keys(at, table, schema);
            table = table->other;
            continue;
        }
        compare_number(at, schema, "minProperties", rule->min);
        compare_number(at, schema, "maxProperties", rule->max);
        if (rule->each)
            below(at, "*", rule->each, json_object_get(schema, "additionalProperties"));
    }
    ck_assert_msg(table == NULL, "%s: the schema has fewer kinds of mappings", at->path);
}

static void compare(struct place *at, const struct ocv_yaml_rule *rule, json_t *schema)
{
    struct value value = {0};
    unsigned takes = 0;
    collect(at, schema, &value);
    for (size_t i = 0; i < value.n; i++)
        takes |= takes_of(value.list[i]);
    ck_assert_msg(takes == rule->takes, "%s: kinds %u in the schema, %u in the table", at->path,
                  takes, rule->takes);
    if (takes & OCV_TAKES_TEXT)
        compare_words(at, rule, part(&value, OCV_TAKES_TEXT));
    if (takes & OCV_TAKES_LIST) {
        json_t *list = part(&value, OCV_TAKES_LIST);
        compare_number(at, list, "minItems", rule->min);
        compare_number(at, list, "maxItems", rule->max);
        ck_assert_msg(json_is_true(json_object_get(list, "uniqueItems")) == rule->once, "%s",
                      at->path);
        below(at, "[]", rule->item, json_object_get(list, "items"));
    }
    if (takes & OCV_TAKES_MAP)
        compare_map(at, rule, &value);
}

static const struct {
    const char *path;
    const struct ocv_yaml_rule *rule;
} files[] = {
    {"schema/config.schema.json", &ocv_config_rule},
    {"schema/index-source.schema.json", &ocv_edit_source_rule},
    {"schema/lint-config.schema.json", &ocv_lint_config_rule},
    {"schema/provider.schema.json", &ocv_declaration_rule},
    {"schema/tag-rules.schema.json", &ocv_tag_rules_rule},
};

START_TEST(the_schema_says_what_the_table_says)
{
    json_error_t error;
    struct place at = {.root = json_load_file(files[_i].path, JSON_REJECT_DUPLICATES, &error)};
    ck_assert_msg(at.root != NULL, "%s:%d: %s", files[_i].path, error.line, error.text);
    snprintf(at.path, sizeof(at.path), "%s: ", files[_i].path);
    compare(&at, files[_i].rule, at.root);
    json_decref(at.root);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("yaml_schema");
    TCase *tcase = tcase_create("schema");
    tcase_add_loop_test(tcase, the_schema_says_what_the_table_says, 0,
                        (int)(sizeof(files) / sizeof(*files)));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
