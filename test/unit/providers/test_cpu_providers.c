/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/cpu/riscv_isa.c, providers/cpu/provider.c: recorded processors other than x86-64. The
 * tables behind them: test_cpu.c. */
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/probe/providers/gpu.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA "test/data/cpuinfo"
#define PATH_SIZE 4096

static const struct ocv_cpu *const cpus[] = {&ocv_cpu_aarch64, &ocv_cpu_loongarch64,
                                             &ocv_cpu_ppc64le, &ocv_cpu_riscv64, &ocv_cpu_s390x};
#define N_CPUS (sizeof(cpus) / sizeof(*cpus))

/* Extensions joined by blanks, "-" if it is not a 64-bit RISC-V isa line. */
static void join_isa(const char *line, char *out, size_t size)
{
    struct ocv_isa isa;
    const char *name;
    size_t len;
    snprintf(out, size, "-");
    if (!ocv_isa_begin(&isa, line, strlen(line)))
        return;
    for (*out = '\0'; ocv_isa_next(&isa, &name, &len);)
        snprintf(out + strlen(out), size - strlen(out), "%s%.*s", *out ? " " : "", (int)len, name);
}

static const struct {
    const char *line, *extensions;
} isa_lines[] = {
    {"rv64imafdc", "i m a f d c"},
    {"rv64imafdcv_zicbom_zba", "i m a f d c v zicbom zba"},
    {"rv64imafdch_zicsr_sstc_svpbmt", "i m a f d c h zicsr sstc svpbmt"},
    {"rv64gc", "i m a f d zicsr zifencei c"},
    {"rv64imafdcsu", "i m a f d c s u"},
    {"rv64imafdcvsu_zba", "i m a f d c v s u zba"},
    {"rv64imafdc_summ", "i m a f d c summ"},
    {"rv64imaczicsr_zba", "i m a c zicsr zba"},
    {"rv64i2p1_m2p0_a2p1_zba1p0_zvl128b1p0", "i m a zba zvl128b"},
    {"rv64i2_m", "i m"},
    {"rv64imp", "i m p"},
    {"rv64ic_zic64b_zve32f_sv39", "i c zic64b zve32f sv39"},
    {"rv64i__zba_", "i zba"},
    {"rv64i_z", "i z"},
    {"rv64i_xtheadvector", "i xtheadvector"},
    {"rv64", ""},
    {"rv64i zba", "i"},
    {"rv64I", ""},
    {"rv32imac", "-"},
    {"rv6", "-"},
    {"", "-"},
};

START_TEST(isa_line)
{
    char got[512];
    join_isa(isa_lines[_i].line, got, sizeof(got));
    ck_assert_str_eq(got, isa_lines[_i].extensions);
}
END_TEST

static int parse_isa_of(size_t extensions, struct ocv_error *err)
{
    struct ocv_buffer buffer;
    struct ocv_cpuinfo cpuinfo;
    ocv_buffer_init(&buffer, OCV_CPUINFO_MAX);
    ck_assert_int_eq(ocv_buffer_append(&buffer, "isa : rv64", 10, NULL), 0);
    for (size_t i = 0; i < extensions; i++)
        ck_assert_int_eq(ocv_buffer_append(&buffer, "_zba", 4, NULL), 0);
    int status = ocv_cpuinfo_parse(&buffer, &cpuinfo, err);
    if (status == 0) {
        ck_assert_uint_eq(cpuinfo.n_flags, extensions);
        ocv_cpuinfo_free(&cpuinfo);
    }
    return status;
}

START_TEST(isa_line_is_limited)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(parse_isa_of(OCV_CPUINFO_FLAGS_MAX, &err), 0);
    ck_assert_int_eq(parse_isa_of(OCV_CPUINFO_FLAGS_MAX + 1, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "1024"));
}
END_TEST

static json_t *probe_tree(const char *dir)
{
    struct ocv_probe_options options = {.sysroot = dir};
    struct ocv_error err = {0};
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, OCV_PROFILE_MAX);
    ck_assert_msg(ocv_probe(&options, &buffer, &err) == 0, "%s: %s", dir, err.message);
    json_t *profile = json_loadb(buffer.data, buffer.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(profile);
    return profile;
}

static const char *string_at(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* The one CPU namespace of a profile, or NULL. */
static json_t *cpu_namespace(const json_t *profile)
{
    size_t i;
    json_t *ns, *found = NULL;
    json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
    {
        const char *name = string_at(ns, "namespace");
        bool cpu = strcmp(name, "x86_64") == 0;
        for (size_t k = 0; k < N_CPUS; k++)
            cpu |= strcmp(name, cpus[k]->ns) == 0;
        ck_assert_msg(!cpu || !found, "two CPU namespaces");
        if (cpu)
            found = ns;
    }
    return found;
}

static void add(char *out, size_t size, const char *word)
{
    size_t len = strlen(out);
    ck_assert_uint_lt(len + strlen(word), size);
    memcpy(out + len, word, strlen(word) + 1);
}

/* A profile in the words of the `expect` files. */
static void describe(const json_t *profile, char *out, size_t size)
{
    const json_t *platform = json_object_get(profile, "platform");
    const json_t *features = json_object_get(cpu_namespace(profile), "features");
    bool flags = false;
    size_t i, k;
    json_t *feature, *value;
    snprintf(out, size, "platform %s/%s%s%s\n", string_at(platform, "os"),
             string_at(platform, "architecture"), *string_at(platform, "variant") ? "/" : "",
             string_at(platform, "variant"));
    json_array_foreach(features, i, feature)
    {
        json_t *values = json_object_get(feature, "values");
        if (strcmp(json_string_value(json_array_get(values, 0)), "on") == 0) {
            add(out, size, flags ? " " : "flags ");
            add(out, size, string_at(feature, "name"));
            flags = true;
            continue;
        }
        add(out, size, string_at(feature, "name"));
        json_array_foreach(values, k, value)
        {
            add(out, size, " ");
            add(out, size, json_string_value(value));
        }
        add(out, size, "\n");
    }
    add(out, size, flags ? "\n" : "");
}

static void check_sample(const char *ns, const char *dir)
{
    char path[PATH_SIZE + 16], want[2048] = "", got[2048];
    snprintf(path, sizeof(path), "%s/expect", dir);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    size_t n = fread(want, 1, sizeof(want) - 1, file);
    fclose(file);
    ck_assert_uint_gt(n, 0);
    json_t *profile = probe_tree(dir), *found = cpu_namespace(profile);
    describe(profile, got, sizeof(got));
    ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s---\n%s", dir, got, want);
    if (strcmp(ns, "ppc64") == 0) {
        ck_assert_ptr_null(found);
    } else {
        ck_assert_str_eq(string_at(found, "namespace"), ns);
        ck_assert_str_eq(string_at(found, "status"), "ok");
        ck_assert_str_eq(string_at(json_object_get(found, "provider"), "source"), "cpuinfo");
    }
    json_decref(profile);
}

/* Call for every directory in a directory; returns their number. */
static size_t each_directory(const char *dir, void (*call)(const char *name, const char *path))
{
    size_t n = 0;
    struct dirent *entry;
    DIR *list = opendir(dir);
    ck_assert_msg(list != NULL, "%s", dir);
    while ((entry = readdir(list))) {
        char path[PATH_SIZE];
        if (entry->d_name[0] == '.')
            continue;
        ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name), PATH_SIZE);
        call(entry->d_name, path);
        n++;
    }
    closedir(list);
    return n;
}

static const char *sample_namespace;

static void call_sample(const char *name, const char *path)
{
    (void)name;
    check_sample(sample_namespace, path);
}

static void call_architecture(const char *name, const char *path)
{
    sample_namespace = name;
    ck_assert_uint_ge(each_directory(path, call_sample), 1);
}

START_TEST(samples)
{
    ck_assert_uint_ge(each_directory(DATA, call_architecture), 6);
}
END_TEST

/* An emulator shows its host's file: it must count for nothing. */
START_TEST(file_of_another_architecture)
{
    struct ocv_buffer buffer;
    struct ocv_cpuinfo cpuinfo;
    struct ocv_cpu_facts facts = {.source = "hwcap"};
    ocv_buffer_init(&buffer, OCV_CPUINFO_MAX);
    const char *content = "processor : 0\nflags : lm fpu sve2 vx lsx v zba\n";
    ck_assert_int_eq(ocv_buffer_append(&buffer, content, strlen(content), NULL), 0);
    ck_assert_int_eq(ocv_cpuinfo_parse(&buffer, &cpuinfo, NULL), 0);
    ck_assert(!ocv_cpu_recorded(cpus[_i], &cpuinfo, &facts));
    ck_assert_str_eq(facts.source, "hwcap");
    ck_assert_uint_eq(facts.n_names, 0);
    ocv_cpuinfo_free(&cpuinfo);
}
END_TEST

static const json_t *feature_values(const json_t *ns, const char *name)
{
    size_t i;
    json_t *feature;
    json_array_foreach(json_object_get(ns, "features"), i, feature)
    {
        if (strcmp(string_at(feature, "name"), name) == 0)
            return json_object_get(feature, "values");
    }
    return NULL;
}

/* Best 8.x of a list of versions, as "8.5". */
static void best_v8(const json_t *values, char *out, size_t size)
{
    size_t i;
    json_t *value;
    json_array_foreach(values, i, value)
    {
        const char *at = json_string_value(value);
        if (at[0] != '8')
            continue;
        if (at[1] == 'a')
            snprintf(out, size, "8.0");
        else
            snprintf(out, size, "%.*s", (int)strcspn(at, "a"), at);
        return;
    }
}

static void check_aarch64(const json_t *profile, const json_t *ns, const json_t *want)
{
    char version[16] = "", v8[16] = "", variant[16];
    const json_t *values = feature_values(ns, "version");
    const char *first = json_string_value(json_array_get(values, 0));
    const char *expected = string_at(want, "version");
    snprintf(version, sizeof(version), strcmp(expected, "8.0") == 0 ? "8a" : "%sa", expected);
    ck_assert_str_eq(first, version);
    best_v8(values, v8, sizeof(v8));
    ck_assert_str_eq(v8, string_at(want, "v8_equivalent"));
    bool zero = strcmp(expected + 1, ".0") == 0; /* v8, v9 */
    snprintf(variant, sizeof(variant), "v%.*s", zero ? 1 : 3, expected);
    ck_assert_str_eq(string_at(json_object_get(profile, "platform"), "variant"), variant);
    size_t i;
    json_t *missing;
    json_array_foreach(json_object_get(want, "missing_for_next"), i, missing)
        ck_assert_ptr_null(feature_values(ns, json_string_value(missing)));
}

static void check_riscv64(const json_t *ns, const json_t *want)
{
    char got[512], extensions[512] = "";
    size_t i;
    json_t *extension;
    json_array_foreach(json_object_get(want, "extensions"), i, extension)
    {
        add(extensions, sizeof(extensions), i ? " " : "");
        add(extensions, sizeof(extensions), json_string_value(extension));
    }
    join_isa(string_at(want, "isa"), got, sizeof(got));
    ck_assert_str_eq(got, extensions);
    ck_assert_str_eq(string_at(ns, "namespace"), "riscv64");
}

static void check_power(const json_t *ns, const json_t *want)
{
    const json_t *levels = feature_values(ns, "level"), *hwcaps = json_object_get(want, "hwcaps");
    ck_assert_str_eq(json_string_value(json_array_get(levels, 0)), string_at(want, "cpu"));
    /* glibc has no name for its baseline */
    ck_assert_uint_eq(json_array_size(levels), json_array_size(hwcaps) + 1);
    for (size_t i = 0; i < json_array_size(hwcaps); i++)
        ck_assert(json_equal(json_array_get(levels, i), json_array_get(hwcaps, i)));
}

static const char *fixtures;
static size_t checked;

static void check_recording(const char *path, const json_t *want)
{
    const char *arch = string_at(want, "arch");
    if (strcmp(arch, "x86_64") == 0)
        return; /* those are test_cpuid's */
    json_t *profile = probe_tree(path), *ns = cpu_namespace(profile);
    checked++;
    if (strcmp(arch, "aarch64") == 0)
        check_aarch64(profile, ns, want);
    else if (strcmp(arch, "riscv64") == 0)
        check_riscv64(ns, want);
    else if (strcmp(arch, "ppc64le") == 0)
        check_power(ns, want);
    else if (strcmp(arch, "s390x") == 0)
        ck_assert(json_equal(feature_values(ns, "level"), json_object_get(want, "hwcaps")));
    else
        ck_assert_msg(ns == NULL, "%s", path);
    json_decref(profile);
}

static void call_fixture(const char *name, const char *path)
{
    char file[PATH_SIZE + 16];
    (void)name;
    snprintf(file, sizeof(file), "%s/expected.json", path);
    json_t *want = json_load_file(file, 0, NULL);
    ck_assert_msg(want != NULL, "%s", file);
    const json_t *cpu = json_object_get(want, "cpu"); /* of the PCI recordings; POWER has a text */
    check_recording(path, json_is_object(cpu) ? cpu : want);
    json_decref(want);
}

static const struct {
    const char *name;
    size_t others; /* recordings that are not x86-64's */
} directories[] = {{"cpuinfo", 13}, {"pci", 4}};

START_TEST(recorded_processors)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", fixtures, directories[_i].name);
    each_directory(path, call_fixture);
    ck_assert_uint_ge(checked, directories[_i].others);
}
END_TEST

TEST_FILE
{
    fixtures = getenv("OCV_FIXTURES");
    if (!fixtures)
        fixtures = "../shared/fixtures";
    Suite *suite = suite_create("cpu_providers");
    TCase *machines = tcase_create("machines");
    tcase_add_loop_test(machines, isa_line, 0, (int)(sizeof(isa_lines) / sizeof(*isa_lines)));
    tcase_add_test(machines, isa_line_is_limited);
    tcase_add_test(machines, samples);
    tcase_add_loop_test(machines, file_of_another_architecture, 0, (int)N_CPUS);
    if (access(fixtures, R_OK) == 0)
        tcase_add_loop_test(machines, recorded_processors, 0, 2);
    else
        puts("skipped: no recorded processors in OCV_FIXTURES");
    suite_add_tcase(suite, machines);
    return run_suite(suite);
}
