/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/probe.c, host/host.c, files/sysroot.c: the profile of this machine and of recorded
 * ones, and that nothing is emitted that schema/vocabulary.yaml does not know. */
#include "lib/probe/host/host.h"
#include "lib/probe/providers/cpu/x86_64.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define DATA "test/data/cpuid"

/* ---- schema/vocabulary.yaml ------------------------------------------------------------------ */

static yaml_document_t vocabulary;

static void vocabulary_load(void)
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

static yaml_node_t *node(int id)
{
    return yaml_document_get_node(&vocabulary, id);
}

static const char *text(yaml_node_t *scalar)
{
    return scalar && scalar->type == YAML_SCALAR_NODE ? (const char *)scalar->data.scalar.value
                                                      : NULL;
}

static yaml_node_t *member(yaml_node_t *map, const char *key)
{
    ck_assert_int_eq(map->type, YAML_MAPPING_NODE);
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (strcmp(text(node(p->key)), key) == 0)
            return node(p->value);
    return NULL;
}

static size_t length(yaml_node_t *list)
{
    ck_assert(list && list->type == YAML_SEQUENCE_NODE);
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static yaml_node_t *item(yaml_node_t *list, size_t i)
{
    return node(list->data.sequence.items.start[i]);
}

/* The item of a list of maps whose `key` is `name`. */
static yaml_node_t *find(yaml_node_t *list, const char *key, const char *name)
{
    for (size_t i = 0; i < length(list); i++)
        if (strcmp(text(member(item(list, i), key)), name) == 0)
            return item(list, i);
    return NULL;
}

static yaml_node_t *feature_entry(const char *ns, const char *feature)
{
    yaml_node_t *namespaces = member(yaml_document_get_root_node(&vocabulary), "namespaces");
    yaml_node_t *entry = find(namespaces, "namespace", ns);
    return entry ? find(member(entry, "features"), "feature", feature) : NULL;
}

static bool matches(const char *pattern, const char *value)
{
    regex_t regex;
    ck_assert_msg(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0, "%s", pattern);
    bool match = regexec(&regex, value, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

static bool allowed(const char *ns, const char *feature, const char *value)
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
        ck_assert_msg(matches("^(cpu|gpu|npu)$", kind), "%s: %s", ns, kind);
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

/* ---- profiles -------------------------------------------------------------------------------- */

static json_t *probe_json(const struct ocv_probe_options *options)
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

static const char *string_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Every property of a profile is in the vocabulary; returns how many there are. */
static size_t check_vocabulary(const json_t *profile)
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

static json_t *find_namespace(const json_t *profile, const char *name)
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

/* ---- sysroots -------------------------------------------------------------------------------- */

static char root[64];

static void write_file(const char *path, const char *content, size_t len)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(content, 1, len, file), len);
    fclose(file);
}

static void write_text(const char *path, const char *content)
{
    write_file(path, content, strlen(content));
}

static void link_to(const char *target, const char *path)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    ck_assert_int_eq(symlink(target, full), 0);
}

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-probe.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

#define V2_FLAGS \
    "lm fpu cx8 cmov mmx fxsr sse sse2 cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 avx512_vbmi"

START_TEST(recorded_tree)
{
    write_text("proc/cpuinfo", "processor : 0\nflags : " V2_FLAGS "\n");
    write_text("etc/hostname", "node-17\n");
    write_text("proc/sys/kernel/random/boot_id", "0c0b1a5e-0000-4000-8000-000000000000\n");
    struct ocv_probe_options options = {.sysroot = root};
    json_t *profile = probe_json(&options);
    json_t *ns = json_array_get(json_object_get(profile, "namespaces"), 0);
    json_t *want =
        json_pack("{s:s, s:s, s:s}", "os", "linux", "architecture", "amd64", "variant", "v2");
    ck_assert(json_equal(json_object_get(profile, "platform"), want));
    ck_assert_str_eq(string_at(profile, "hostname"), "node-17");
    ck_assert_str_eq(string_at(profile, "boot_id"), "0c0b1a5e-0000-4000-8000-000000000000");
    ck_assert_str_eq(string_at(json_object_get(ns, "provider"), "source"), "cpuinfo");
    char *features = json_dumps(json_object_get(ns, "features"), JSON_COMPACT);
    ck_assert_ptr_nonnull(strstr(features, "{\"name\":\"sse3\",\"values\":[\"on\"]}"));
    ck_assert_ptr_nonnull(strstr(features, "{\"name\":\"avx512vbmi\",\"values\":[\"on\"]}"));
    free(features);
    json_decref(want);
    json_decref(profile);
}
END_TEST

START_TEST(cpuid_stands_before_cpuinfo)
{
    write_text("proc/cpuinfo", "processor : 0\nflags : " V2_FLAGS "\n");
    write_text("etc/hostname", "node-17\n");
    struct ocv_probe_options options = {.sysroot = root, .cpuid = DATA "/full.v4.cpuid"};
    json_t *profile = probe_json(&options);
    ck_assert_str_eq(string_at(json_object_get(profile, "platform"), "variant"), "v4");
    ck_assert_str_eq(string_at(profile, "hostname"), "node-17");
    json_decref(profile);
}
END_TEST

START_TEST(empty_tree)
{
    struct ocv_probe_options options = {.sysroot = root};
    json_t *profile = probe_json(&options);
    ck_assert_ptr_null(json_object_get(profile, "platform"));
    ck_assert_ptr_null(json_object_get(profile, "hostname"));
    ck_assert_ptr_null(json_object_get(profile, "boot_id"));
    /* whatever else is looked for, no architecture's namespace is named */
    ck_assert_uint_eq(check_vocabulary(profile), 0);
    ck_assert_ptr_null(find_namespace(profile, "x86_64"));
    ck_assert_ptr_null(find_namespace(profile, "aarch64"));
    json_decref(profile);
}
END_TEST

START_TEST(missing_tree)
{
    struct ocv_error err = {0};
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, OCV_PROFILE_MAX);
    char path[128];
    snprintf(path, sizeof(path), "%s/no-such-directory", root);
    struct ocv_probe_options options = {.sysroot = path};
    ck_assert_int_eq(ocv_probe(&options, &buffer, &err), OCV_ERR_NOT_FOUND);
    write_text("file", "");
    snprintf(path, sizeof(path), "%s/file", root);
    ck_assert_int_eq(ocv_probe(&options, &buffer, &err), OCV_ERR_IO);
}
END_TEST

/* What each way to open must give, for a path of the hostile tree below. */
static const struct {
    const char *path, *content; /* content NULL: refused */
} openings[] = {
    {"real", "inside\n"},
    {"absolute", "inside\n"},   /* -> /real is the tree's own */
    {"upwards", "inside\n"},    /* -> ../../../../real cannot leave */
    {"dir/back", "inside\n"},   /* -> ../real */
    {"todir/back", "inside\n"}, /* through a link to a directory */
    {"a/../real", NULL},        /* a is not a directory that exists */
    {"dir/../real", "inside\n"},
    {"outside", NULL}, /* -> a file that exists outside only */
    {"loop", NULL},
    {"dangling", NULL},
    {"none/real", NULL},
};

static void make_hostile_tree(void)
{
    char outside[128];
    write_text("real", "inside\n");
    write_text("dir/file", "");
    link_to("/real", "absolute");
    link_to("../../../../real", "upwards");
    link_to("../real", "dir/back");
    link_to("/dir/", "todir");
    link_to("loop", "loop");
    link_to("nowhere", "dangling");
    snprintf(outside, sizeof(outside), "%s-outside", root);
    FILE *file = fopen(outside, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    link_to(outside, "outside");
}

static void check_opening(int fd, const char *path, const char *content)
{
    char got[64] = "";
    ck_assert_msg((fd >= 0) == (content != NULL), "%s", path);
    if (fd < 0)
        return;
    ck_assert_int_ge((int)read(fd, got, sizeof(got) - 1), 0);
    ck_assert_str_eq(got, content);
    close(fd);
}

START_TEST(nothing_leaves_the_root)
{
    char outside[128];
    int fd;
    make_hostile_tree();
    ck_assert_int_eq(ocv_sysroot_open(root, &fd, NULL), 0);
    for (size_t i = 0; i < sizeof(openings) / sizeof(*openings); i++) {
        const char *path = openings[i].path;
        check_opening(ocv_sysroot_openat(fd, path, O_RDONLY), path, openings[i].content);
        check_opening(ocv_sysroot_walk(fd, path, O_RDONLY), path, openings[i].content);
    }
    close(fd);
    snprintf(outside, sizeof(outside), "%s-outside", root);
    ck_assert_int_eq(unlink(outside), 0);
}
END_TEST

START_TEST(odd_files_are_refused_or_bounded)
{
    char path[128], line[16];
    int fd;
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, 8);
    ck_assert_int_eq(ocv_sysroot_open(root, &fd, NULL), 0);
    snprintf(path, sizeof(path), "%s/fifo", root);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(ocv_sysroot_read(fd, "fifo", &buffer, NULL), OCV_ERR_IO);
    ck_assert_int_eq(ocv_sysroot_read(fd, ".", &buffer, NULL), OCV_ERR_IO);
    ck_assert_int_eq(ocv_sysroot_read(fd, "none", &buffer, NULL), OCV_ERR_NOT_FOUND);
    write_text("eight", "12345678");
    ck_assert_int_eq(ocv_sysroot_read(fd, "eight", &buffer, NULL), OCV_OK);
    ck_assert_uint_eq(buffer.len, 8);
    ocv_buffer_free(&buffer);
    write_text("nine", "123456789");
    ck_assert_int_eq(ocv_sysroot_read(fd, "nine", &buffer, NULL), OCV_ERR_DATA);

    write_text("plain", "  word \t\nsecond\n");
    ck_assert(ocv_sysroot_line(fd, "plain", line, sizeof(line)));
    ck_assert_str_eq(line, "word");
    write_file("nul", "a\0b\n", 4);
    write_text("escape", "a\033[31m\n");
    write_text("long", "1234567890123456\n");
    write_text("blank", " \n");
    static const char *const bad[] = {"nul", "escape", "long", "blank", "fifo", "none"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_sysroot_line(fd, bad[i], line, sizeof(line)), "%s", bad[i]);
    close(fd);
}
END_TEST

START_TEST(hostile_cpuinfo)
{
    struct ocv_probe_options options = {.sysroot = root};
    write_file("proc/cpuinfo", "flags : lm\0 sse\n:\nflags", 23);
    json_decref(probe_json(&options));
    link_to("/dev/zero", "etc");
    json_decref(probe_json(&options));
}
END_TEST

int main(void)
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
    TCase *tree = tcase_create("tree");
    tcase_add_checked_fixture(tree, make_root, remove_root);
    tcase_add_test(tree, recorded_tree);
    tcase_add_test(tree, cpuid_stands_before_cpuinfo);
    tcase_add_test(tree, empty_tree);
    tcase_add_test(tree, missing_tree);
    tcase_add_test(tree, nothing_leaves_the_root);
    tcase_add_test(tree, odd_files_are_refused_or_bounded);
    tcase_add_test(tree, hostile_cpuinfo);
    suite_add_tcase(suite, machine);
    suite_add_tcase(suite, tree);
    return run_suite(suite);
}
