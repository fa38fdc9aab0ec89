/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/cpu/x86_64.c: levels and flags of recorded and made-up processors. Fixtures:
 * OCV_FIXTURES/cpuid and cpuinfo. */
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/probe/providers/gpu.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA "test/data/cpuid"

static char fixtures[4096];

static char *path_of(const char *dir, const char *name, const char *suffix)
{
    static char path[8192];
    snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
    return path;
}

static json_t *load_json(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    ck_assert_msg(json != NULL, "%s:%d: %s", path, error.line, error.text);
    return json;
}

/* The provider's answer for a processor: the namespace's features. */
static json_t *features_of(struct ocv_probe_host *host, const char **variant)
{
    struct ocv_result result = {.status = OCV_RESULT_ABSENT, .features = json_array()};
    struct ocv_error err = {0};
    ck_assert_msg(ocv_provider_x86_64.probe(host, &result, &err) == 0, "%s", err.message);
    ck_assert_int_eq(result.status, OCV_RESULT_OK);
    *variant = result.variant;
    return result.features;
}

static json_t *values_of(const json_t *features, const char *name)
{
    size_t i;
    json_t *feature;
    json_array_foreach(features, i, feature)
    {
        if (strcmp(json_string_value(json_object_get(feature, "name")), name) == 0)
            return json_object_get(feature, "values");
    }
    return NULL;
}

static bool has(const json_t *features, const char *name)
{
    const json_t *values = values_of(features, name);
    if (values)
        ck_assert_str_eq(json_string_value(json_array_get(values, 0)), "on");
    return values != NULL;
}

static unsigned level_number(const char *text)
{
    return text ? (unsigned)(text[1] - '0') : 0;
}

static struct ocv_probe_host host_of(const struct ocv_cpuid *cpuid)
{
    return (struct ocv_probe_host){
        .root = -1, .has_cpuid = true, .cpuid = *cpuid, .architecture = "amd64"};
}

/* Spelling of the fixtures (cpuinfo's) -> ours. */
static const char *ours(const char *name)
{
    return strcmp(name, "avx512_vbmi") == 0 ? "avx512vbmi" : name;
}

/* Every name that the fixtures' `features` may hold. */
static const char *const listed[] = {"adx",
                                     "aes",
                                     "amx_bf16",
                                     "amx_fp16",
                                     "amx_int8",
                                     "amx_tile",
                                     "avx512_bf16",
                                     "avx512_bitalg",
                                     "avx512_fp16",
                                     "avx512_vbmi",
                                     "avx512_vbmi2",
                                     "avx512_vnni",
                                     "avx512_vp2intersect",
                                     "avx512_vpopcntdq",
                                     "avx512ifma",
                                     "avx_vnni",
                                     "gfni",
                                     "pclmulqdq",
                                     "rdrand",
                                     "sha_ni",
                                     "vaes",
                                     "vpclmulqdq"};

/* Exactly the wanted ones of the listed features. */
static void check_features(const char *id, const json_t *features, const json_t *want)
{
    for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++) {
        bool wanted = false;
        for (size_t k = 0; k < json_array_size(want); k++)
            wanted |= strcmp(json_string_value(json_array_get(want, k)), listed[i]) == 0;
        ck_assert_msg(has(features, ours(listed[i])) == wanted, "%s: %s should be %s", id,
                      listed[i], wanted ? "there" : "absent");
    }
}

static unsigned level_with_xcr0(struct ocv_cpuid cpuid, uint64_t xcr0)
{
    cpuid.has_xcr0 = true;
    cpuid.xcr0 = xcr0;
    return ocv_x86_64_level(&cpuid);
}

static void check_recorded(const char *name, const json_t *want)
{
    struct ocv_error err = {0};
    struct ocv_cpuid cpuid;
    char dir[8192];
    snprintf(dir, sizeof(dir), "%s/cpuid", fixtures);
    int status = ocv_cpuid_read(path_of(dir, name, ".cpuid"), &cpuid, &err);
    ck_assert_msg(status == 0, "%s", err.message);

    const char *level = json_string_value(json_object_get(want, "level"));
    const char *variant;
    struct ocv_probe_host host = host_of(&cpuid);
    json_t *features = features_of(&host, &variant);
    ck_assert_msg(json_equal(values_of(features, "level"), json_object_get(want, "levels")),
                  "%s: levels", name);
    ck_assert_str_eq(variant, level);
    check_features(name, features, json_object_get(want, "features"));
    ck_assert_uint_eq(level_with_xcr0(cpuid, 1),
                      level_number(json_string_value(json_object_get(want, "level_if_xcr0_is_1"))));
    ck_assert_uint_eq(level_with_xcr0(cpuid, 7),
                      level_number(json_string_value(json_object_get(want, "level_if_xcr0_is_7"))));
    json_decref(features);
    ocv_cpuid_free(&cpuid);
}

START_TEST(recorded_processors)
{
    char dir[8192];
    snprintf(dir, sizeof(dir), "%s/cpuid", fixtures);
    json_t *expected = load_json(path_of(dir, "expected.json", ""));
    const char *name;
    json_t *want;
    size_t n = 0;
    json_object_foreach(expected, name, want)
    {
        check_recorded(name, want);
        n++;
    }
    ck_assert_uint_ge(n, 1);
    json_decref(expected);
}
END_TEST

static uint32_t hex_of(const json_t *object, const char *key)
{
    return (uint32_t)strtoul(json_string_value(json_object_get(object, key)), NULL, 16);
}

static void apply(struct ocv_cpuid *cpuid, const json_t *edit)
{
    static const char names[4][4] = {"eax", "ebx", "ecx", "edx"};
    uint32_t leaf = hex_of(edit, "leaf"), subleaf = hex_of(edit, "subleaf");
    const char *reg = json_string_value(json_object_get(edit, "register"));
    for (size_t i = 0; i < cpuid->n; i++) {
        struct ocv_cpuid_row *row = &cpuid->rows[i];
        if (row->leaf != leaf || row->subleaf != subleaf)
            continue;
        for (size_t r = 0; r < 4; r++) {
            if (strcmp(names[r], reg) != 0)
                continue;
            if (json_object_get(edit, "set"))
                row->registers[r] = hex_of(edit, "set");
            else
                row->registers[r] &=
                    ~(1u << json_integer_value(json_object_get(edit, "clear_bit")));
            return;
        }
    }
    ck_abort_msg("edit of a word that is not recorded");
}

static void check_mutation(const json_t *mutation)
{
    struct ocv_error err = {0};
    struct ocv_cpuid cpuid;
    char dir[8192];
    const char *id = json_string_value(json_object_get(mutation, "id"));
    const char *base = json_string_value(json_object_get(mutation, "base"));
    snprintf(dir, sizeof(dir), "%s/cpuid", fixtures);
    int status = ocv_cpuid_read(path_of(dir, base, ".cpuid"), &cpuid, &err);
    ck_assert_msg(status == 0, "%s", err.message);
    const char *before = json_string_value(json_object_get(mutation, "level_before"));
    ck_assert_uint_eq(ocv_x86_64_level(&cpuid), level_number(before));

    size_t i;
    json_t *edit;
    json_array_foreach(json_object_get(mutation, "edits"), i, edit) apply(&cpuid, edit);
    if (json_is_string(json_object_get(mutation, "xcr0"))) {
        cpuid.has_xcr0 = true;
        cpuid.xcr0 = strtoull(json_string_value(json_object_get(mutation, "xcr0")), NULL, 16);
    }
    const char *level = json_string_value(json_object_get(mutation, "level"));
    /* what is not a psABI level ("32-bit") has no number */
    unsigned want = level && level[0] == 'v' ? level_number(level) : 0;
    ck_assert_msg(ocv_x86_64_level(&cpuid) == want, "%s: v%u instead of %s", id,
                  ocv_x86_64_level(&cpuid), level);
    const json_t *features = json_object_get(mutation, "features");
    if (features) {
        const char *variant;
        struct ocv_probe_host host = host_of(&cpuid);
        json_t *got = features_of(&host, &variant);
        check_features(id, got, features);
        json_decref(got);
    }
    ocv_cpuid_free(&cpuid);
}

START_TEST(mutated_processors)
{
    char dir[8192], *line = NULL;
    size_t cap = 0, n = 0;
    snprintf(dir, sizeof(dir), "%s/cpuid", fixtures);
    FILE *file = fopen(path_of(dir, "mutations.jsonl", ""), "r");
    ck_assert_ptr_nonnull(file);
    while (getline(&line, &cap, file) > 0) {
        json_t *mutation = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(mutation);
        check_mutation(mutation);
        json_decref(mutation);
        n++;
    }
    ck_assert_uint_ge(n, 100);
    free(line);
    fclose(file);
}
END_TEST

/* A recorded tree through the public function. */
static void check_tree(const char *dir, const json_t *want)
{
    struct ocv_probe_options options = {.sysroot = dir};
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    ck_assert_msg(ocv_probe(&options, &text, &err) == 0, "%s: %s", dir, err.message);
    json_t *profile = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(profile);
    json_t *ns = json_array_get(json_object_get(profile, "namespaces"), 0);
    const char *architecture =
        json_string_value(json_object_get(json_object_get(profile, "platform"), "architecture"));
    bool x86 = strcmp(json_string_value(json_object_get(want, "arch")), "x86_64") == 0;
    const char *name = json_string_value(json_object_get(ns, "namespace"));
    ck_assert_msg((name && strcmp(name, "x86_64") == 0) == x86, "%s", dir);
    ck_assert_msg(architecture && (strcmp(architecture, "amd64") == 0) == x86, "%s: %s", dir,
                  architecture);
    if (x86) {
        ck_assert_str_eq(json_string_value(json_object_get(ns, "status")), "ok");
        ck_assert_msg(json_equal(values_of(json_object_get(ns, "features"), "level"),
                                 json_object_get(want, "levels")),
                      "%s: levels", dir);
    }
    json_decref(profile);
}

START_TEST(recorded_cpuinfo)
{
    char family[8192];
    size_t n = 0;
    snprintf(family, sizeof(family), "%s/cpuinfo", fixtures);
    DIR *dir = opendir(family);
    ck_assert_ptr_nonnull(dir);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char item[8192 + 256];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(item, sizeof(item), "%s/%s", family, entry->d_name);
        json_t *want = load_json(path_of(item, "expected.json", ""));
        check_tree(item, want);
        json_decref(want);
        n++;
    }
    closedir(dir);
    ck_assert_uint_ge(n, 1);
}
END_TEST

/* test/data/cpuid/NAME.vN.cpuid: the level stands in the name, v0 is below v1. */
START_TEST(synthetic_processors)
{
    DIR *dir = opendir(DATA);
    ck_assert_ptr_nonnull(dir);
    struct dirent *entry;
    size_t n = 0;
    while ((entry = readdir(dir))) {
        const char *dot = strchr(entry->d_name, '.');
        if (!dot || dot == entry->d_name)
            continue;
        struct ocv_error err = {0};
        struct ocv_cpuid cpuid;
        ck_assert_msg(ocv_cpuid_read(path_of(DATA, entry->d_name, ""), &cpuid, &err) == 0, "%s",
                      err.message);
        ck_assert_msg(ocv_x86_64_level(&cpuid) == (unsigned)(dot[2] - '0'), "%s: v%u",
                      entry->d_name, ocv_x86_64_level(&cpuid));
        ocv_cpuid_free(&cpuid);
        n++;
    }
    closedir(dir);
    ck_assert_uint_ge(n, 15);
}
END_TEST

static json_t *synthetic(const char *name, const char **variant)
{
    struct ocv_error err = {0};
    struct ocv_cpuid cpuid;
    ck_assert_msg(ocv_cpuid_read(path_of(DATA, name, ".cpuid"), &cpuid, &err) == 0, "%s",
                  err.message);
    struct ocv_probe_host host = host_of(&cpuid);
    json_t *features = features_of(&host, variant);
    ocv_cpuid_free(&cpuid);
    return features;
}

START_TEST(state_gates_new_flags)
{
    const char *variant;
    json_t *full = synthetic("avx10.v4", &variant),
           *bare = synthetic("avx10-no-state.v4", &variant);
    static const char *const need_state[] = {"apx",      "amx_tile", "amx_int8",
                                             "amx_bf16", "amx_fp16", "amx_complex"};
    for (size_t i = 0; i < sizeof(need_state) / sizeof(*need_state); i++) {
        ck_assert_msg(has(full, need_state[i]), "%s", need_state[i]);
        ck_assert_msg(!has(bare, need_state[i]), "%s", need_state[i]);
    }
    ck_assert(has(full, "avx10_2") && has(full, "avx10_1"));
    ck_assert(!has(bare, "avx10_2") && has(bare, "avx10_1"));
    ck_assert(has(bare, "avx_vnni") && has(bare, "avx_vnni_int8"));
    json_decref(full);
    json_decref(bare);
    json_t *unknown = synthetic("leaf7-1-unknown.v4", &variant);
    ck_assert(!has(unknown, "avx_vnni") && !has(unknown, "avx10_1"));
    json_decref(unknown);
}
END_TEST

START_TEST(below_v1_has_no_level)
{
    const char *variant;
    json_t *features = synthetic("no-long-mode.v0", &variant);
    ck_assert_ptr_null(values_of(features, "level"));
    ck_assert_ptr_null(variant);
    ck_assert(has(features, "sse2"));
    json_decref(features);
}
END_TEST

START_TEST(level_stands_first_and_v1_is_told)
{
    const char *variant;
    json_t *features = synthetic("baseline.v1", &variant);
    const json_t *first = json_array_get(features, 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "name")), "level");
    json_t *want = json_pack("[s]", "v1");
    ck_assert(json_equal(json_object_get(first, "values"), want));
    ck_assert_str_eq(variant, "v1");
    json_decref(want);
    json_decref(features);
}
END_TEST

/* The published 56 names, in their order (PEP 817 provider-variant-x86-64). */
START_TEST(published_names_keep_spelling_and_order)
{
    static const char published[] =
        "avx_vnni cppc ibrs_enhanced tsc_adjust flush_l1d movdir64b movdiri avx512_bf16 "
        "avx512_bitalg avx512_vbmi2 avx512_vnni avx512_vp2intersect avx512_vpopcntdq avx512ifma "
        "avx512vbmi rdpid sha_ni vaes vpclmulqdq clwb clzero avx512bw avx512cd avx512dq avx512f "
        "avx512vl clflushopt gfni rdseed xsavec xsaveopt adx avx2 avx bmi2 bmi1 abm f16c fma movbe "
        "xsave rdrand aes pclmulqdq sse4a fsgsbase sse4_2 sse4_1 ssse3 sse3 cx16 lahf_lm popcnt "
        "sse2 sse mmx";
    size_t at = 0, n = 0;
    for (const char *s = published; *s; n++) {
        size_t len = strcspn(s, " ");
        const char *name;
        while ((name = ocv_x86_64_flag(at++)) != NULL)
            if (strlen(name) == len && memcmp(name, s, len) == 0)
                break;
        ck_assert_msg(name != NULL, "%.*s is missing or out of order", (int)len, s);
        s += len + (s[len] == ' ');
    }
    ck_assert_uint_eq(n, 56);
}
END_TEST

TEST_FILE
{
    const char *dir = getenv("OCV_FIXTURES");
    snprintf(fixtures, sizeof(fixtures), "%s", dir ? dir : "../shared/fixtures");
    Suite *suite = suite_create("cpuid");
    TCase *recorded = tcase_create("recorded");
    tcase_set_timeout(recorded, 60);
    if (access(path_of(fixtures, "cpuid/expected.json", ""), R_OK) == 0) {
        tcase_add_test(recorded, recorded_processors);
        tcase_add_test(recorded, mutated_processors);
        tcase_add_test(recorded, recorded_cpuinfo);
    } else {
        printf("skipped: no recorded processors in %s\n", fixtures);
    }
    TCase *own = tcase_create("own");
    tcase_add_test(own, synthetic_processors);
    tcase_add_test(own, state_gates_new_flags);
    tcase_add_test(own, below_v1_has_no_level);
    tcase_add_test(own, level_stands_first_and_v1_is_told);
    tcase_add_test(own, published_names_keep_spelling_and_order);
    suite_add_tcase(suite, recorded);
    suite_add_tcase(suite, own);
    return run_suite(suite);
}
