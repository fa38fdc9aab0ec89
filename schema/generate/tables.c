/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "schema/generate/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"cpu", "gpu", "npu", "api", NULL};

static void print_namespaces(node list, const char *name, const char *kind)
{
    printf("static const char *const ocv_vocabulary_%s[] __attribute__((unused)) = {\n", name);
    for (node ns = list->first; ns; ns = ns->next)
        if (!kind || strcmp(need(ns, "kind"), kind) == 0)
            printf("    \"%s\",\n", need(ns, "namespace"));
    printf("};\n");
}

/* Small, since the choice and the probe need no more of the features. */
static void print_histories(node list)
{
    printf("\n/* Of features whose versions include older majors: the last ones of these. */\n"
           "static const struct ocv_vocabulary_history {\n"
           "    const char *ns, *name, *versions; /* \"4.5,5.7,6.4\" */\n"
           "} ocv_vocabulary_histories[] __attribute__((unused)) = {\n");
    for (node ns = list->first; ns; ns = ns->next)
        for (node feature = first_of(ns, "features"); feature; feature = feature->next)
            if (ocv_yaml_get(feature, "downwards")) {
                printf("    {\"%s\", \"%s\", ", need(ns, "namespace"), need(feature, "feature"));
                print_joined(ocv_yaml_get(feature, "downwards"), ",");
                printf("},\n");
            }
    printf("};\n");
}

static bool is_true(node map, const char *key)
{
    const char *text = ocv_yaml_text(map, key);
    return text && strcmp(text, "true") == 0;
}

/* What no provider reports yet: "*" for all of it, else the values. */
static void print_documented(node ns, node feature)
{
    node values = ocv_yaml_get(feature, "documented");
    if ((ns && is_true(ns, "documented")) || is_true(feature, "documented"))
        printf("\"*\"");
    else
        print_joined(values && values->type == OCV_YAML_LIST ? values : NULL, ",");
}

/* Its values, its pattern, and what is documented early; each with a comma behind it. */
static void print_feature(node ns, node feature)
{
    print_joined(ocv_yaml_get(feature, "values"), ",");
    printf(", ");
    print_string(ocv_yaml_text(feature, "pattern"));
    printf(", ");
    print_documented(ns, feature);
    printf(", ");
}

void vocabulary(void)
{
    const char *last = "";
    size_t n = 0;
    node list = need_list(document, "namespaces");
    for (node ns = list->first; ns; ns = ns->next) {
        const char *name = need(ns, "namespace");
        if (strcmp(last, name) >= 0 || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
            fail(ns, "bad name, or not in order: %s", name);
        need_word(ns, "kind", kinds);
        last = name;
        n++;
    }
    head("OCV_VOCABULARY_H");
    printf("#include <stddef.h>\n\n#define OCV_VOCABULARY_NAMESPACES %zu\n\n", n);
    print_namespaces(list, "namespaces", NULL);
    print_namespaces(list, "cpu_namespaces", "cpu");
    print_namespaces(list, "api_namespaces", "api");
    print_namespaces(list, "gpu_namespaces", "gpu");
    print_histories(list);
    printf("\n/* Values joined by commas, or a pattern; names of products, \"h100=90_real,...\"; "
           "`documented`: those that no provider reports yet, \"*\": all. */\n"
           "static const struct ocv_vocabulary_feature {\n"
           "    const char *ns, *name, *values, *pattern, *documented, *names;\n"
           "} ocv_vocabulary_features[] __attribute__((unused)) = {\n");
    for (node ns = list->first; ns; ns = ns->next)
        for (node feature = first_of(ns, "features"); feature; feature = feature->next) {
            printf("    {\"%s\", \"%s\", ", need(ns, "namespace"), need(feature, "feature"));
            print_feature(ns, feature);
            print_joined(ocv_yaml_get(feature, "names"), ",");
            printf("},\n");
        }
    printf("};\n");
}

/* The name of its declarative provider's file, or NULL. */
static const char *provider_of(const char *ns)
{
    for (char **path = providers; *path; path++) {
        const char *name = strrchr(*path, '/') ? strrchr(*path, '/') + 1 : *path;
        size_t n = strlen(ns);
        if (strncmp(name, ns, n) == 0 && strcmp(name + n, ".yaml") == 0)
            return name;
    }
    return NULL;
}

void vocabulary_words(void)
{
    size_t first = 0;
    node list = need_list(document, "namespaces");
    head("OCV_VOCABULARY_WORDS_H");
    printf("#include \"cmd/common/names.h\"\n\n"
           "static const struct vocabulary_feature vocabulary_features[] = {\n");
    for (node ns = list->first; ns; ns = ns->next)
        for (node feature = first_of(ns, "features"); feature; feature = feature->next) {
            printf("    {\"%s\", ", need(feature, "feature"));
            print_feature(NULL, feature);
            print_strings(feature, (const char *const[]){"meaning", "example", NULL});
            printf(", ");
            print_joined(ocv_yaml_get(feature, "names"), ",");
            printf(", ");
            print_string(ocv_yaml_text(feature, "brief"));
            printf("},\n");
        }
    printf("};\n\nstatic const struct vocabulary_namespace vocabulary_namespaces[] = {\n");
    for (node ns = list->first; ns; ns = ns->next) {
        node features = need_list(ns, "features");
        const char *name = need(ns, "namespace"), *provider = provider_of(name);
        printf("    {\"%s\", ", name);
        print_strings(ns, (const char *const[]){"kind", "meaning", NULL});
        printf(", ");
        print_string(provider || is_true(ns, "documented") ? provider : "");
        printf(", %zu, %zu},\n", first, features->n);
        first += features->n;
    }
    printf("};\n");
}

void hints(void)
{
    const char *last = "";
    head("OCV_HINTS_H");
    printf("#include <stddef.h>\n\nstatic const struct hint_entry {\n"
           "    const char *property, *what, *by, *needs;\n} ocv_hints[] = {\n");
    for (node hint = need_list(document, "hints")->first; hint; hint = hint->next) {
        const char *property = need(hint, "property");
        if (strcmp(last, property) >= 0)
            fail(hint, "not in order: %s", property);
        last = property;
        need(hint, "needs");
        printf("    {");
        print_strings(hint, (const char *const[]){"property", "what", "by", "needs", NULL});
        printf("},\n");
    }
    printf("};\n");
}

/* "12.4": its parts, and an order. */
static unsigned read_version(node map, const char *key, unsigned *major, unsigned *minor)
{
    char *dot, *end;
    *major = (unsigned)strtoul(need(map, key), &dot, 10);
    *minor = *dot == '.' ? (unsigned)strtoul(dot + 1, &end, 10) : 0;
    if (*dot != '.' || end == dot + 1 || *end)
        fail(ocv_yaml_get(map, key), "%s is not MAJOR.MINOR", key);
    return *major * 1000 + *minor;
}

void toolkits(void)
{
    char ns[64], version[64], ns_of[3][64], feature[3][64];
    static const char *const others[] = {"device", "compat", "tested"};
    unsigned major, minor, last = (unsigned)-1;
    split_feature(document, "version", ns, version);
    for (size_t i = 0; i < 3; i++)
        split_feature(document, others[i], ns_of[i], feature[i]);
    if (strcmp(ns_of[0], ns) != 0 || strcmp(ns_of[1], ns) != 0)
        fail(document, "device or compat of another namespace");
    read_version(document, "zstd_from", &major, &minor);
    head("OCV_TOOLKITS_H");
    printf("#define OCV_TOOLKIT_NAMESPACE \"%s\"\n#define OCV_TOOLKIT_VERSION \"%s\"\n"
           "#define OCV_TOOLKIT_DEVICE \"%s\"\n#define OCV_TOOLKIT_MINOR_FROM %lu\n"
           "#define OCV_TOOLKIT_ZSTD \"%s\"\n#define OCV_TOOLKIT_MINOR_LABEL \"%s\"\n"
           "#define OCV_TOOLKIT_COMPAT \"%s\"\n#define OCV_TESTED_NAMESPACE \"%s\"\n"
           "#define OCV_TESTED_VERSION \"%s\"\n\n",
           ns, version, feature[0], strtoul(need(document, "minor_from"), NULL, 10),
           need(document, "zstd_from"), need(document, "minor_label"), feature[1], ns_of[2],
           feature[2]);
    printf("/* Compute capabilities divided by blanks. */\nstatic const struct ocv_toolkit {\n"
           "    unsigned major, minor;\n    const char *makes;\n"
           "} ocv_toolkits[] __attribute__((unused)) = {\n");
    for (node toolkit = need_list(document, "toolkits")->first; toolkit; toolkit = toolkit->next) {
        unsigned order = read_version(toolkit, "version", &major, &minor);
        if (order >= last)
            fail(toolkit, "not newest first");
        last = order;
        printf("    {%u, %u, ", major, minor);
        print_joined(need_list(toolkit, "makes"), " ");
        printf("},\n");
    }
    printf("};\n\n/* Drivers, newest first, and the CUDA version that they support. */\n"
           "static const struct ocv_driver {\n    unsigned branch, major, minor;\n"
           "} ocv_drivers[] __attribute__((unused)) = {\n");
    last = (unsigned)-1;
    for (node driver = need_list(document, "drivers")->first; driver; driver = driver->next) {
        unsigned branch = (unsigned)strtoul(need(driver, "driver"), NULL, 10);
        if (branch >= last)
            fail(driver, "not newest first");
        last = branch;
        read_version(driver, "cuda", &major, &minor);
        printf("    {%u, %u, %u},\n", branch, major, minor);
    }
    printf("};\n");
}

static const char *const device_tests[] = {"at-least", "below", "capability", "is",
                                           "model",    "any",   NULL};

void device_drivers(void)
{
    char ns[64], feature[64];
    size_t driver = 0, word = 0;
    node drivers = need_list(document, "drivers");
    split_feature(document, "level", ns, feature);
    head("OCV_DEVICE_DRIVERS_H");
    printf("#include <stddef.h>\n\n#define OCV_LEVEL_NAMESPACE \"%s\"\n"
           "#define OCV_LEVEL_FEATURE \"%s\"\n#define OCV_LEVEL_LABEL \"%s\"\n\n"
           "enum ocv_device_test {\n    OCV_DEVICE_NOTHING,\n",
           ns, feature, need(document, "level_label"));
    for (size_t i = 0; device_tests[i]; i++) {
        printf("    OCV_DEVICE_");
        print_upper(device_tests[i]);
        printf(",\n");
    }
    printf("};\n\nstruct ocv_device_word {\n    const char *value, *words;\n};\n"
           "struct ocv_device_driver {\n    const char *ns, *name, *label;\n};\n"
           "/* words: from `first` on, `n` of them */\nstruct ocv_device_feature {\n"
           "    size_t driver;\n    const char *name, *attribute;\n"
           "    enum ocv_device_test test;\n    size_t first, n;\n};\n\n"
           "/* once: pointers into them are compared */\n#ifdef OCV_DEVICE_TABLES\n"
           "static const struct ocv_device_word ocv_device_words[] = {\n");
    for (node d = drivers->first; d; d = d->next)
        for (node f = first_of(d, "features"); f; f = f->next)
            for (node value = first_of(f, "values"); value; value = value->next)
                printf("    {\"%s\", \"%s\"},\n", need(value, "value"), need(value, "is"));
    printf("};\n\nstatic const struct ocv_device_driver ocv_device_drivers[] = {\n");
    for (node d = drivers->first; d; d = d->next) {
        printf("    {\"%s\", ", need(d, "namespace"));
        print_strings(d, (const char *const[]){"driver", "label", NULL});
        printf("},\n");
    }
    printf("};\n\nstatic const struct ocv_device_feature ocv_device_features[] = {\n");
    for (node d = drivers->first; d; d = d->next) {
        for (node f = first_of(d, "features"); f; f = f->next) {
            node values = ocv_yaml_get(f, "values");
            printf("    {%zu, \"%s\", ", driver, need(f, "feature"));
            print_string(ocv_yaml_text(f, "attribute"));
            printf(", OCV_DEVICE_%s, %zu, %zu},\n",
                   ocv_yaml_text(f, "test") ? need_word(f, "test", device_tests) : "NOTHING", word,
                   values ? values->n : 0);
            word += values ? values->n : 0;
        }
        driver++;
    }
    printf("};\n#endif\n");
}

static void facts(const char *record, const char *prefix, size_t min, size_t max, const char *guard)
{
    head(guard);
    printf("#include <stddef.h>\n\nstruct %s {\n    const char *%s\n};\n", record,
           max == 3 ? "a, *b, *c; /* NULL where the record is shorter */" : "a, *b;");
    for (node section = document->first; section; section = section->next) {
        if (section->type != OCV_YAML_LIST)
            continue;
        printf("static const struct %s %s%s[] __attribute__((unused)) = {\n", record, prefix,
               section->key);
        for (node row = section->first; row; row = row->next) {
            if (row->type != OCV_YAML_LIST || row->n < min || row->n > max)
                fail(row, "not %zu to %zu texts", min, max);
            printf("    {");
            for (node text = row->first; text; text = text->next) {
                printf(text == row->first ? "" : ", ");
                print_string(text->text);
            }
            for (size_t i = row->n; i < max; i++)
                printf(", NULL");
            printf("},\n");
        }
        printf("};\n");
    }
}

void config_facts(void)
{
    facts("config_fact", "config_", 2, 2, "OCV_CONFIG_FACTS_H");
}

void lint_facts(void)
{
    facts("lint_fact", "ocv_lint_", 1, 3, "OCV_LINT_FACTS_H");
}

/* A table of a section whose rows have only texts. */
static void text_table(const char *section, const char *type, const char *const *keys)
{
    printf("__attribute__((unused)) static const %s = {\n", type);
    for (node row = need_list(document, section)->first; row; row = row->next) {
        need(row, keys[0]);
        printf(keys[1] ? "    {" : "    ");
        print_strings(row, keys);
        printf(keys[1] ? "},\n" : ",\n");
    }
    printf("};\n\n");
}

void slim_vendors(void)
{
    static const char *const keys[] = {"files", "license", NULL};
    head("GEN_SLIM_VENDORS_H");
    text_table("vendors",
               "struct slim_vendor {\n    const char *files, *license;\n} slim_vendors[]", keys);
}

void content_rules(void)
{
    char ns[64], feature[64];
    head("GEN_CONTENT_RULES_H");
    printf("#include \"lib/internal/content/content.h\"\n\n"
           "/** A property is NS :: FEATURE :: BEFORE value-of-the-fact AFTER. */\n"
           "__attribute__((unused)) static const struct content_property {\n"
           "    enum ocv_content_fact fact;\n    const char *ns, *feature, *before, *after;\n"
           "} content_properties[] = {\n");
    for (node row = need_list(document, "properties")->first; row; row = row->next) {
        const char *value = need(row, "value"), *place = strchr(value, '%');
        split_feature(row, "property", ns, feature);
        if (!place || strchr(place + 1, '%'))
            fail(row, "no place for the value, or two");
        printf("    {OCV_CONTENT_%s, \"%s\", \"%s\", \"%.*s\", \"%s\"},\n", need(row, "fact"), ns,
               feature, (int)(place - value), value, place + 1);
    }
    printf("};\n\n/** `ns` is NULL where the version of a library is no property. */\n"
           "__attribute__((unused)) static const struct content_library {\n"
           "    const char *name, *is, *ns, *feature, *label;\n} content_libraries[] = {\n");
    for (node row = need_list(document, "libraries")->first; row; row = row->next) {
        printf("    {\"%s\", \"%s\", ", need(row, "library"), need(row, "is"));
        if (ocv_yaml_get(row, "property")) {
            split_feature(row, "property", ns, feature);
            printf("\"%s\", \"%s\", ", ns, feature);
        } else {
            printf("NULL, NULL, ");
        }
        print_string(ocv_yaml_text(row, "label"));
        printf("},\n");
    }
    printf("};\n\n__attribute__((unused)) static const struct content_setting {\n"
           "    const char *name;\n    enum ocv_content_fact fact;\n    bool dotted;\n"
           "} content_settings[] = {\n");
    for (node row = need_list(document, "settings")->first; row; row = row->next)
        printf("    {\"%s\", OCV_CONTENT_%s, %s},\n", need(row, "setting"), need(row, "of"),
               strcmp(need(row, "dotted"), "yes") == 0 ? "true" : "false");
    printf("};\n\n");
    text_table("toolkits",
               "struct content_toolkit {\n    const char *ptx, *toolkit;\n} content_toolkits[]",
               (const char *const[]){"ptx", "toolkit", NULL});
    text_table("environment", "char *const content_environment[]",
               (const char *const[]){"environment", NULL});
    printf("/** A library of a driver, by its name; `below` is NULL where a version follows. */\n");
    text_table("drivers",
               "struct content_driver {\n    const char *name, *is, *below;\n} content_drivers[]",
               (const char *const[]){"driver", "is", "below", NULL});
    printf("/** A file whose path ends so brings a compiler that runs with the program. */\n");
    text_table("compilers",
               "struct content_compiler {\n    const char *path, *is;\n} content_compilers[]",
               (const char *const[]){"path", "compiles", NULL});
    text_table("labels", "char *const content_labels[]", (const char *const[]){"label", NULL});
}
