/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes as JSON, and a check of their properties against schema/vocabulary.yaml. */
#ifndef PROFILE_UTIL_H
#define PROFILE_UTIL_H

#include "ocivariant.h"
#include "test/unit/suite.h"

#include <jansson.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define UNUSED __attribute__((unused))
#define DATA "test/data/cpuid"

static yaml_document_t vocabulary;

UNUSED static void vocabulary_load(void)
{
    yaml_parser_t parser;
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert(yaml_parser_initialize(&parser));
    yaml_parser_set_input_file(&parser, file);
    ck_assert_msg(yaml_parser_load(&parser, &vocabulary), "vocabulary.yaml:%zu: %s",
                  parser.problem_mark.line + 1, parser.problem);
    yaml_parser_delete(&parser);
    fclose(file);
}

UNUSED static yaml_node_t *node(int id)
{
    return yaml_document_get_node(&vocabulary, id);
}

UNUSED static const char *text(yaml_node_t *scalar)
{
    return scalar && scalar->type == YAML_SCALAR_NODE ? (const char *)scalar->data.scalar.value
                                                      : NULL;
}

UNUSED static yaml_node_t *member(yaml_node_t *map, const char *key)
{
    ck_assert_int_eq(map->type, YAML_MAPPING_NODE);
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (strcmp(text(node(p->key)), key) == 0)
            return node(p->value);
    return NULL;
}

UNUSED static size_t length(yaml_node_t *list)
{
    ck_assert(list && list->type == YAML_SEQUENCE_NODE);
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

UNUSED static yaml_node_t *item(yaml_node_t *list, size_t i)
{
    return node(list->data.sequence.items.start[i]);
}

/* The item of a list of maps whose `key` is `name`. */
UNUSED static yaml_node_t *find(yaml_node_t *list, const char *key, const char *name)
{
    for (size_t i = 0; i < length(list); i++)
        if (strcmp(text(member(item(list, i), key)), name) == 0)
            return item(list, i);
    return NULL;
}

UNUSED static yaml_node_t *feature_entry(const char *ns, const char *feature)
{
    yaml_node_t *namespaces = member(yaml_document_get_root_node(&vocabulary), "namespaces");
    yaml_node_t *entry = find(namespaces, "namespace", ns);
    return entry ? find(member(entry, "features"), "feature", feature) : NULL;
}

UNUSED static bool matches(const char *pattern, const char *value)
{
    regex_t regex;
    ck_assert_msg(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0, "%s", pattern);
    bool match = regexec(&regex, value, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

UNUSED static bool allowed(const char *ns, const char *feature, const char *value)
{
    yaml_node_t *entry = feature_entry(ns, feature);
    if (!entry)
        return false;
    if (member(entry, "pattern"))
        return matches(text(member(entry, "pattern")), value);
    yaml_node_t *values = member(entry, "values");
    for (size_t i = 0; i < length(values); i++)
        if (strcmp(text(item(values, i)), value) == 0)
            return true;
    return false;
}

UNUSED static json_t *probe_json(const struct ocv_probe_options *options)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) parsed = NULL;
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, OCV_PROFILE_MAX);
    ck_assert_msg(ocv_probe(options, &buffer, &err) == 0, "%s", err.message);
    ck_assert_int_eq(buffer.data[buffer.len - 1], '\n');
    ck_assert_msg(ocv_profile_parse(buffer.data, buffer.len, &parsed, &err) == 0, "%s",
                  err.message);
    json_t *json = json_loadb(buffer.data, buffer.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    return json;
}

UNUSED static const char *string_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Every property of a profile is in the vocabulary; returns how many there are. */
UNUSED static size_t check_vocabulary(const json_t *profile)
{
    size_t i, k, v, n = 0;
    json_t *ns, *feature, *value;
    json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
    {
        json_array_foreach(json_object_get(ns, "features"), k, feature)
        {
            json_array_foreach(json_object_get(feature, "values"), v, value)
            {
                ck_assert_msg(allowed(string_at(ns, "namespace"), string_at(feature, "name"),
                                      json_string_value(value)),
                              "%s :: %s :: %s", string_at(ns, "namespace"),
                              string_at(feature, "name"), json_string_value(value));
                n++;
            }
        }
    }
    return n;
}

UNUSED static json_t *find_namespace(const json_t *profile, const char *name)
{
    size_t i;
    json_t *ns;
    json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
    {
        if (strcmp(string_at(ns, "namespace"), name) == 0)
            return ns;
    }
    return NULL;
}

#endif
