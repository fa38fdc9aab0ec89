/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/probe.c, host/host.c: the profile of this machine and of recorded processors, and that
 * nothing is emitted that schema/vocabulary.yaml does not know. Trees: test_probe_tree.c. */
#include "lib/probe/host/host.h"
#include "lib/probe/providers/cpu/cpu.h"
#include "test/unit/probe/profile_util.h"

#include <dirent.h>
#include <unistd.h>

static void check_feature(const char *ns, yaml_node_t *feature)
{
    const char *name = text(member(feature, "feature"));
    yaml_node_t *values = member(feature, "values"), *pattern = member(feature, "pattern");
    ck_assert_msg(ocv_property_name_valid(name, strlen(name)), "%s", name);
    ck_assert_msg((values == NULL) != (pattern == NULL), "%s :: %s", ns, name);
    ck_assert_msg(member(feature, "meaning") != NULL, "%s :: %s", ns, name);
    ck_assert_ptr_eq(feature_entry(ns, name), feature); /* not there twice */
    for (size_t i = 0; values && i < length(values); i++) {
        const char *value = text(item(values, i));
        ck_assert_msg(ocv_property_value_valid(value, strlen(value)), "%s :: %s", ns, value);
    }
    const char *example = member(feature, "example") ? text(member(feature, "example")) : NULL;
    ck_assert_msg(example || (values && length(values) == 1), "%s :: %s: no example", ns, name);
    if (!example)
        return;
    ocv_auto(ocv_properties) parsed = NULL;
    ck_assert_int_eq(ocv_properties_parse(example, strlen(example), &parsed, NULL), 0);
    ck_assert_uint_eq(ocv_properties_count(parsed), 1);
    struct ocv_property p = ocv_properties_get(parsed, 0);
    ck_assert_str_eq(p.ns, ns);
    ck_assert_str_eq(p.feature, name);
    ck_assert_msg(allowed(ns, name, p.value), "%s", example);
}

START_TEST(vocabulary_is_sound)
{
    vocabulary_load();
    yaml_node_t *root = yaml_document_get_root_node(&vocabulary);
    yaml_node_t *namespaces = member(root, "namespaces");
    ck_assert_str_eq(text(member(root, "schema")), "dev.ocivariant.vocabulary/v1");
    for (size_t i = 0; i < length(namespaces); i++) {
        const char *ns = text(member(item(namespaces, i), "namespace"));
        const char *kind = text(member(item(namespaces, i), "kind"));
        ck_assert_msg(ocv_property_name_valid(ns, strlen(ns)), "%s", ns);
        ck_assert_msg(matches("^(cpu|gpu|npu|api)$", kind), "%s: %s", ns, kind);
        ck_assert_msg(ocv_vocabulary_owns(ns), "%s", ns); /* the generated header has it */
        yaml_node_t *features = member(item(namespaces, i), "features");
        ck_assert_uint_ge(length(features), 1);
        for (size_t k = 0; k < length(features); k++)
            check_feature(ns, item(features, k));
    }
    ck_assert(!ocv_vocabulary_owns("priority"));
    yaml_document_delete(&vocabulary);
}
END_TEST

/* Both ways: what the provider can emit and what the vocabulary promises for it, in one order. */
START_TEST(x86_64_vocabulary_is_the_provider)
{
    vocabulary_load();
    yaml_node_t *namespaces = member(yaml_document_get_root_node(&vocabulary), "namespaces");
    yaml_node_t *features = member(find(namespaces, "namespace", "x86_64"), "features");
    ck_assert_str_eq(text(member(item(features, 0), "feature")), "level");
    size_t n = 1;
    for (const char *name; (name = ocv_x86_64_flag(n - 1)) != NULL; n++) {
        ck_assert_uint_lt(n, length(features));
        ck_assert_str_eq(text(member(item(features, n), "feature")), name);
        ck_assert(allowed("x86_64", name, "on"));
    }
    ck_assert_uint_eq(n, length(features));
    yaml_document_delete(&vocabulary);
}
END_TEST

#if defined(__x86_64__)
#define OWN_NAMESPACE "x86_64"
#define OWN_SOURCE "cpuid"
#elif defined(__aarch64__)
#define OWN_NAMESPACE "aarch64"
#define OWN_SOURCE "hwcap"
#endif

START_TEST(this_machine)
{
    struct ocv_probe_options options = {0};
    vocabulary_load();
    json_t *profile = probe_json(&options);
    ck_assert_str_eq(string_at(profile, "schema"), "dev.ocivariant.profile/v1");
    ck_assert(matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
                      string_at(profile, "generated")));
    char hostname[256];
    ck_assert_int_eq(gethostname(hostname, sizeof(hostname)), 0);
    ck_assert_str_eq(string_at(profile, "hostname"), hostname);
    ck_assert_str_eq(string_at(json_object_get(profile, "platform"), "os"), "linux");
    check_vocabulary(profile);
#ifdef OWN_NAMESPACE
    json_t *ns = find_namespace(profile, OWN_NAMESPACE);
    json_t *provider = json_object_get(ns, "provider");
    ck_assert_str_eq(string_at(provider, "name"), OWN_NAMESPACE);
    ck_assert_str_eq(string_at(provider, "kind"), "builtin");
    ck_assert_str_eq(string_at(provider, "version"), "1");
    ck_assert_str_eq(string_at(provider, "source"), OWN_SOURCE);
    ck_assert_str_eq(string_at(ns, "status"), "ok");
    ck_assert_uint_ge(json_array_size(json_object_get(ns, "features")), 4);
    const char *other = strcmp(OWN_NAMESPACE, "x86_64") == 0 ? "aarch64" : "x86_64";
    ck_assert_ptr_null(find_namespace(profile, other));
#endif
    json_decref(profile);
    yaml_document_delete(&vocabulary);
}
END_TEST

/* Highest level that the dynamic linker says is supported, 0 if it says nothing. */
static unsigned linker_level(void)
{
    unsigned level = 0;
    char line[512];
    FILE *pipe = popen("/lib64/ld-linux-x86-64.so.2 --help 2>/dev/null", "r");
    ck_assert_ptr_nonnull(pipe);
    while (fgets(line, sizeof(line), pipe)) {
        const char *at = strstr(line, "x86-64-v");
        if (at && strstr(at, "(supported") && (unsigned)(at[8] - '0') > level)
            level = (unsigned)(at[8] - '0');
    }
    pclose(pipe);
    return level;
}

START_TEST(agrees_with_the_dynamic_linker)
{
    struct ocv_probe_options options = {0};
    json_t *profile = probe_json(&options);
    const char *variant = string_at(json_object_get(profile, "platform"), "variant");
    unsigned linker = linker_level();
    /* it lists v2 and above only */
    ck_assert_uint_eq((unsigned)(variant[1] - '0'), linker ? linker : 1);
    json_decref(profile);
}
END_TEST

START_TEST(injected_processors)
{
    vocabulary_load();
    DIR *dir = opendir(DATA);
    ck_assert_ptr_nonnull(dir);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        const char *dot = strchr(entry->d_name, '.');
        if (!dot || dot == entry->d_name)
            continue;
        char path[512];
        snprintf(path, sizeof(path), DATA "/%s", entry->d_name);
        struct ocv_probe_options options = {.cpuid = path};
        json_t *profile = probe_json(&options);
        json_t *platform = json_object_get(profile, "platform");
        ck_assert_uint_ge(check_vocabulary(profile), 1);
        ck_assert_ptr_null(string_at(profile, "hostname"));
        if (dot[2] == '0') {
            ck_assert_str_eq(string_at(platform, "architecture"), "386");
            ck_assert_ptr_null(string_at(platform, "variant"));
        } else {
            ck_assert_str_eq(string_at(platform, "architecture"), "amd64");
            ck_assert_int_eq(string_at(platform, "variant")[1], dot[2]);
        }
        json_decref(profile);
    }
    closedir(dir);
    yaml_document_delete(&vocabulary);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("probe");
    TCase *machine = tcase_create("machine");
    tcase_add_test(machine, vocabulary_is_sound);
    tcase_add_test(machine, x86_64_vocabulary_is_the_provider);
    tcase_add_test(machine, this_machine);
    tcase_add_test(machine, injected_processors);
    if (access("/lib64/ld-linux-x86-64.so.2", X_OK) == 0)
        tcase_add_test(machine, agrees_with_the_dynamic_linker);
    else
        puts("skipped: no dynamic linker of glibc for x86-64 to compare with");
    suite_add_tcase(suite, machine);
    return run_suite(suite);
}
