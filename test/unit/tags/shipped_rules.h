/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shipped tag rules, what they say of a tag, and the vocabulary that they use. */
#ifndef OCV_SHIPPED_RULES_H
#define OCV_SHIPPED_RULES_H

#include "lib/internal/tags/tags_internal.h"
#include "test/unit/core_util.h"

UNUSED static struct ocv_tag_rules *rules;
UNUSED static struct ocv_yaml *vocabulary;
UNUSED static json_t *toolkits; /* by version, from test/data/tags/toolkits.json */

UNUSED static void setup(void)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1024 * 1024);
    char block[16384];
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        ck_assert_int_eq(ocv_buffer_append(&text, block, n, &err), 0);
    fclose(file);
    ck_assert_int_eq(ocv_yaml_read("vocabulary.yaml", text.data, text.len, &vocabulary, &err), 0);
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    ck_assert_msg(ocv_tag_rules_load(rules, "plugins/tags.d", NULL, &err) == OCV_OK, "%s",
                  err.message);
    toolkits = json_load_file("test/data/tags/toolkits.json", 0, NULL);
    ck_assert_ptr_nonnull(toolkits);
}

UNUSED static void teardown(void)
{
    ocv_tag_rules_free(rules);
    ocv_yaml_free(vocabulary);
    json_decref(toolkits);
}

UNUSED static const struct ocv_yaml *named(const struct ocv_yaml *list, const char *key,
                                           const char *name)
{
    const struct ocv_yaml *m = list ? list->first : NULL;
    while (m && strcmp(ocv_yaml_text(m, key), name) != 0)
        m = m->next;
    return m;
}

UNUSED static bool is_listed(const struct ocv_yaml *feature, const char *value)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
    const char *pattern = ocv_yaml_text(feature, "pattern");
    regex_t regex;
    if (values)
        return ocv_yaml_find(values, value) >= 0;
    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool match = regexec(&regex, value, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

/* `value` NULL: only namespace and feature are known. */
UNUSED static void check_listed(const char *where, const char *ns, const char *feature,
                                const char *value)
{
    const struct ocv_yaml *space = named(ocv_yaml_get(vocabulary, "namespaces"), "namespace", ns);
    ck_assert_msg(space != NULL, "%s: no namespace %s", where, ns);
    const struct ocv_yaml *f = named(ocv_yaml_get(space, "features"), "feature", feature);
    ck_assert_msg(f != NULL, "%s: no %s :: %s", where, ns, feature);
    ck_assert_msg(!value || is_listed(f, value), "%s: no %s :: %s :: %s", where, ns, feature,
                  value);
}

UNUSED static struct ocv_tag *parse(const char *text)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) reference = NULL;
    struct ocv_tag *tag = NULL;
    ck_assert_msg(ocv_reference_parse(text, &reference, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(ocv_tag_parse(rules, reference, NULL, &tag, &err) == OCV_OK, "%s", err.message);
    return tag;
}

UNUSED static const char *group_of(const struct ocv_tag *tag, const char *wanted)
{
    const char *key, *value;
    for (size_t i = 0; ocv_tag_group(tag, i, &key, &value); i++)
        if (strcmp(key, wanted) == 0)
            return value;
    return "";
}

UNUSED static bool says_devices(const struct ocv_tag *tag)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_said(tag)); i++)
        if (strcmp(ocv_properties_get(ocv_tag_said(tag), i).feature, "sm_arch") == 0)
            return true;
    return false;
}

UNUSED static bool is_device(const struct ocv_tag *tag, struct ocv_property p)
{
    return strcmp(p.feature, "sm_arch") == 0 && !says_devices(tag);
}

/* What the tag is found to need, without the devices that its family or toolkit adds. */
UNUSED static void format_without_devices(const struct ocv_tag *tag, struct ocv_buffer *out)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        if (!is_device(tag, p))
            ck_assert_int_eq(ocv_buffer_printf(out, NULL, "%s%s :: %s :: %s", out->len ? ", " : "",
                                               p.ns, p.feature, p.value),
                             OCV_OK);
    }
}

/* The devices that were added: those of the list, or all of the toolkit `wanted` names. */
UNUSED static void check_devices(const struct ocv_tag *tag, const json_t *wanted)
{
    const char *toolkit = json_string_value(wanted);
    const json_t *list = toolkit ? json_object_get(toolkits, toolkit) : wanted;
    size_t n = 0;
    ck_assert_msg(!toolkit || list, "no toolkit %s", toolkit);
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        bool found = false;
        if (!is_device(tag, p))
            continue;
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *one = json_array_get(list, k);
            char value[32];
            snprintf(value, sizeof(value), "%d_real", (int)json_integer_value(one));
            found = found || strcmp(toolkit ? value : json_string_value(one), p.value) == 0;
        }
        ck_assert_msg(found, "%s: the rules give sm_arch %s, spot.jsonl does not",
                      ocv_tag_reference(tag), p.value);
        n++;
    }
    ck_assert_msg(n == json_array_size(list), "%s: the rules give %zu of %zu sm_arch",
                  ocv_tag_reference(tag), n, json_array_size(list));
}

UNUSED static const char *string_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* False where the fixtures are not. */
UNUSED static bool corpus_file(const char *name, char path[4096])
{
    const char *directory = getenv("OCV_FIXTURES");
    snprintf(path, 4096, "%s/tags/%s", directory ? directory : "../shared/fixtures", name);
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    else
        printf("skipped: no %s in OCV_FIXTURES\n", name);
    return file != NULL;
}

#endif
