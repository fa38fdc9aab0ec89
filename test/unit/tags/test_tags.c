/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/tags: rule files, what a tag says, mirrors. */
#include "test/unit/tags/tags_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the toolkits make. */
#define MADE_12_8                        \
    ",\"nvidia :: sm_arch :: 100_real\"" \
    ",\"nvidia :: sm_arch :: 120_real\"" \
    ",\"nvidia :: sm_arch :: 50_real\""  \
    ",\"nvidia :: sm_arch :: 52_real\""  \
    ",\"nvidia :: sm_arch :: 53_real\""  \
    ",\"nvidia :: sm_arch :: 60_real\""  \
    ",\"nvidia :: sm_arch :: 61_real\""  \
    ",\"nvidia :: sm_arch :: 62_real\""  \
    ",\"nvidia :: sm_arch :: 70_real\""  \
    ",\"nvidia :: sm_arch :: 72_real\""  \
    ",\"nvidia :: sm_arch :: 75_real\""  \
    ",\"nvidia :: sm_arch :: 80_real\""  \
    ",\"nvidia :: sm_arch :: 86_real\""  \
    ",\"nvidia :: sm_arch :: 87_real\""  \
    ",\"nvidia :: sm_arch :: 89_real\""  \
    ",\"nvidia :: sm_arch :: 90_real\""

#define MADE_13_0                        \
    ",\"nvidia :: sm_arch :: 100_real\"" \
    ",\"nvidia :: sm_arch :: 103_real\"" \
    ",\"nvidia :: sm_arch :: 110_real\"" \
    ",\"nvidia :: sm_arch :: 120_real\"" \
    ",\"nvidia :: sm_arch :: 121_real\"" \
    ",\"nvidia :: sm_arch :: 75_real\""  \
    ",\"nvidia :: sm_arch :: 80_real\""  \
    ",\"nvidia :: sm_arch :: 86_real\""  \
    ",\"nvidia :: sm_arch :: 87_real\""  \
    ",\"nvidia :: sm_arch :: 88_real\""  \
    ",\"nvidia :: sm_arch :: 89_real\""  \
    ",\"nvidia :: sm_arch :: 90_real\""

#define MADE_12_0                       \
    ",\"nvidia :: sm_arch :: 50_real\"" \
    ",\"nvidia :: sm_arch :: 52_real\"" \
    ",\"nvidia :: sm_arch :: 53_real\"" \
    ",\"nvidia :: sm_arch :: 60_real\"" \
    ",\"nvidia :: sm_arch :: 61_real\"" \
    ",\"nvidia :: sm_arch :: 62_real\"" \
    ",\"nvidia :: sm_arch :: 70_real\"" \
    ",\"nvidia :: sm_arch :: 72_real\"" \
    ",\"nvidia :: sm_arch :: 75_real\"" \
    ",\"nvidia :: sm_arch :: 80_real\"" \
    ",\"nvidia :: sm_arch :: 86_real\"" \
    ",\"nvidia :: sm_arch :: 87_real\"" \
    ",\"nvidia :: sm_arch :: 89_real\"" \
    ",\"nvidia :: sm_arch :: 90_real\""

static const struct {
    const char *reference, *json;
} parsed[] = {
    {"demo/app:1.2-cuda12.8-py312",
     "{\"reference\":\"docker.io/demo/app:1.2-cuda12.8-py312\",\"family\":\"demo\",\"properties\":["
     "\"nvidia :: cuda_version_lower_bound :: 12.8\"" MADE_12_8
     "],\"group\":{\"python\":\"3.12\",\"version\":"
     "\"1.2\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[]}"},
    {"demo/app:1.2-cu130-cudnn9",
     "{\"reference\":\"docker.io/demo/app:1.2-cu130-cudnn9\",\"family\":\"demo\",\"properties\":["
     "\"nvidia :: cuda_version_lower_bound :: 13.0\"" MADE_13_0
     "],\"group\":{\"version\":\"1.2\"},\"ignored\":["
     "\"cudnn9\"],\"unknown\":[],\"ambiguous\":[]}"},
    {"demo/app:1.2-cuda-12-x86_64",
     "{\"reference\":\"docker.io/demo/app:1.2-cuda-12-x86_64\",\"family\":\"demo\",\"properties\":["
     "\"nvidia :: cuda_version_lower_bound :: 12.0\"" MADE_12_0
     "],\"group\":{\"version\":\"1.2\"},\"ignored\":["
     "],\"unknown\":[],\"ambiguous\":[],\"platform\":\"linux/amd64\"}"},
    {"demo/app:1.9",
     "{\"reference\":\"docker.io/demo/app:1.9\",\"family\":\"demo\",\"properties\":[\"nvidia :: "
     "sm_arch :: 80_real\"],\"group\":{\"version\":\"1.9\"},\"ignored\":[],\"unknown\":[],"
     "\"ambiguous\":[]}"},
    {"demo/app:2.0",
     "{\"reference\":\"docker.io/demo/app:2.0\",\"family\":\"demo\",\"properties\":[\"nvidia :: "
     "sm_arch :: 90_real\"],\"group\":{\"version\":\"2.0\"},\"ignored\":[],\"unknown\":[],"
     "\"ambiguous\":[]}"},
    {"demo/app:86-1.9",
     "{\"reference\":\"docker.io/demo/app:86-1.9\",\"family\":\"demo\",\"properties\":[\"nvidia :: "
     "sm_arch :: 86_real\"],\"group\":{\"version\":\"1.9\"},\"ignored\":[],\"unknown\":[],"
     "\"ambiguous\":[]}"},
    {"demo/app:1.9-cu118-cuda12.1",
     "{\"reference\":\"docker.io/demo/"
     "app:1.9-cu118-cuda12.1\",\"family\":\"demo\",\"properties\":[]"
     ",\"group\":{\"version\":\"1.9\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[\"cuda12.1 "
     "after cu118\"]}"},
    {"demo/app:1.9-what-ever",
     /* one of the two may be the device that is missed */
     "{\"reference\":\"docker.io/demo/app:1.9-what-ever\",\"family\":\"demo\",\"properties\":[],"
     "\"group\":{\"version\":\"1.9\"},\"ignored\":[],\"unknown\":["
     "\"what\",\"ever\"],\"ambiguous\":[]}"},
    {"demo/app:driver-1",
     "{\"reference\":\"docker.io/demo/app:driver-1\",\"family\":\"demo\",\"properties\":[\"nvidia "
     ":: sm_arch :: 90_real\"],\"group\":{\"version\":\"1\"},\"ignored\":[],\"unknown\":[],"
     "\"ambiguous\":[],\"refused\":\"a driver image\"}"},
    {"r.example/a/b/app:1-cpu-aarch64",
     "{\"reference\":\"r.example/a/b/app:1-cpu-aarch64\",\"family\":\"demo\",\"properties\":[],"
     "\"group\":{\"version\":\"1\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[],\"platform\":"
     "\"linux/arm64\"}"},
    {"demo/app-rocm:1",
     "{\"reference\":\"docker.io/demo/"
     "app-rocm:1\",\"family\":\"demo\",\"properties\":[],\"group\":{"
     "\"backend\":\"rocm\",\"version\":\"1\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[]}"},
    {"demo/app:1.9-arm64-x86_64",
     "{\"reference\":\"docker.io/demo/app:1.9-arm64-x86_64\",\"family\":\"demo\",\"properties\":[],"
     "\"group\":{\"version\":\"1.9\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[\"linux/amd64 "
     "after "
     "linux/arm64\"],\"platform\":\"linux/arm64\"}"},
    {"demo/app:1.8-sbsa1.9",
     "{\"reference\":\"docker.io/demo/app:1.8-sbsa1.9\",\"family\":\"demo\",\"properties\":[],"
     "\"group\":{\"version\":\"1.8\"},\"ignored\":[],\"unknown\":[],\"ambiguous\":[\"sbsa1.9 after "
     "1.8\","
     "\"version is 1.8 and 1.9\"],\"platform\":\"linux/arm64\"}"},
    {"demo/app:1.9-liba-libb-cpu", /* what may stand several times */
     "{\"reference\":\"docker.io/demo/"
     "app:1.9-liba-libb-cpu\",\"family\":\"demo\",\"properties\":[],"
     "\"group\":{\"version\":\"1.9\"},\"ignored\":[\"liba\",\"libb\"],\"unknown\":[],\"ambiguous\":"
     "[]}"},
    {"other/app:1",
     "{\"reference\":\"docker.io/other/app:1\",\"family\":null,\"properties\":[],\"group\":{},"
     "\"ignored\":[],\"unknown\":[],\"ambiguous\":[]}"},
};

START_TEST(test_parse)
{
    ocv_auto(ocv_tag_rules) rules = rules_of(rules_text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto_buffer json;
    ocv_buffer_init(&json, 8192);
    ck_assert_int_eq(ocv_reference_parse(parsed[_i].reference, &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, reference, NULL, &tag, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_format_json(tag, &json, NULL), OCV_OK);
    ck_assert_str_eq(json.data, parsed[_i].json);
}
END_TEST

#define FAMILY \
    "schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts: [{match: a}]\n"

/* What is wrong, in a minimal family, and the line it is told for. */
static const struct {
    const char *text, *message;
} wrong[] = {
    {FAMILY "cuda: major\n",
     "r.yaml:5: invalid value 'major' for cuda: minor, strict or compat, or a list"},
    {FAMILY "prefer: {tag: shortes}\n",
     "r.yaml:5: invalid value 'shortes' for tag: shortest; did you mean 'shortest'?"},
    {FAMILY "prefer: {cuda: newst}\n", "r.yaml:5: invalid value 'newst' for cuda: newest or "
                                       "oldest, or a list; did you mean 'newest'?"},
    {FAMILY "prefer: {tag: [shortest]}\n", "r.yaml:5: 'tag' must be shortest"},
    {FAMILY "cuda: {minor: true}\n", "r.yaml:5: 'cuda' must be minor, strict or compat, or a list"},
    {FAMILY "cuda:\n- {minor: yes}\n",
     "r.yaml:6: invalid value 'yes' for minor: true, false, or the driver's CUDA version"},
    {FAMILY "cuda:\n- {minor: '12'}\n", "r.yaml:6: invalid value '12' for minor"},
    {FAMILY "cuda:\n- {minor: '12.4.1'}\n", "r.yaml:6: invalid value '12.4.1' for minor"},
    {FAMILY "cuda:\n- {sm: [90_real]}\n", "r.yaml:6: unknown key 'sm' of a table"},
    {FAMILY "cuda:\n- {sm_arch: all}\n",
     "r.yaml:6: invalid value 'all' for sm_arch: any, or a list of 1 to 32"},
    {FAMILY "cuda:\n- {sm_arch: []}\n", "r.yaml:6: 'sm_arch' must be any, or a list of 1 to 32"},
    {FAMILY "cuda:\n- {sm_arch: [sm_90]}\n", "r.yaml:6: 'sm_90' must be NN_real"},
    {FAMILY "cuda:\n- {sm_arch: [90]}\n", "r.yaml:6: '90' must be NN_real"},
    {FAMILY "cuda:\n- {sm_arch: [90a_virtual]}\n", "r.yaml:6: '90a_virtual' must be NN_real"},
    {FAMILY "cuda:\n- {toolkit: '12('}\n", "r.yaml:6"},
    {FAMILY "cuda:\n- {platform: amd64}\n", "r.yaml:6: 'platform' is not OS/ARCHITECTURE"},
    {FAMILY "cuda:\n- {where: {version: '1.*'}}\n",
     "r.yaml:6: 'version' is a group that no part captures"},
    {"family: x\n", "r.yaml:1: 'schema'"},
    {"- a\n", "r.yaml:1: the file must be a mapping"},
    {"schema: dev.ocivariant.tags/v1\n", "neither a family nor notations"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\n", "'repositories'"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a]\n",
     "r.yaml:3: 'a' must be HOST/PATH"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts: []\n", "'parts'"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {mtch: a}\n",
     "r.yaml:5: unknown key 'mtch' of a part; did you mean 'match'?"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: 'a('}\n",
     "r.yaml:5: pattern 'a('"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: "
     "'a{1000}'}\n",
     "intervals"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: "
     "'(a)\\1'}\n",
     "back-references"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, gives: ['nvidia : sm']}\n",
     "r.yaml:5: 'nvidia : sm' is not 'namespace"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: '(a)', gives: ['nvidia :: sm_arch :: \\2_real']}\n",
     "r.yaml:5: 'nvidia :: sm_arch :: \\2_real' asks for more than"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\ndefaults:\n- {missing: version, gives: ['a :: b :: \\1']}\n",
     "r.yaml:7: 'a :: b :: \\1' asks for more than"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\ngroup_tags: ['{version}',\n  '{version}-{pyton}']\n",
     "r.yaml:7: 'pyton' is a group that no part captures"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\nprefer:\n  tag: shortest\n  os: newest\n",
     "r.yaml:8: 'os' is a group that no part captures"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\ndefaults:\n- {where: {verison: a}, refuse: b}\n",
     "r.yaml:7: 'verison' is a group that no part captures"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a}\nnamespaces: [nvidia, AMD]\n",
     "r.yaml:6: 'AMD' must be a namespace"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [A/b]\nparts:\n- {match: a}\n",
     "r.yaml:3: 'A/b' must be HOST/PATH"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {use: none}\n",
     "no such notation"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: a}\n"
     "group_tags: [latest]\n",
     "r.yaml:6: 'latest' names no group"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: a}\n"
     "prefer: {os: best}\n",
     "invalid value 'best' for os: newest or oldest, or a list"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: a}\n"
     "separators: '_-.'\n",
     "separators: some of - _ . +, the dash first"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nfamily: y\n", "twice"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: &a [a/b]\nparts: *a\n", "aliases"},
};

START_TEST(test_wrong)
{
    struct ocv_tag_rules *rules = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    int status =
        ocv_tag_rules_add(rules, "r.yaml", wrong[_i].text, strlen(wrong[_i].text), NULL, &err);
    ck_assert_int_eq(status, OCV_ERR_DATA);
    ck_assert_int_eq(err.status, OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, wrong[_i].message) != NULL, "%s", err.message);
    ck_assert_uint_eq(ocv_tag_rules_count(rules), 0);
    ocv_tag_rules_free(rules);
}
END_TEST

/* What is added again is asked first, and so stands last. */
START_TEST(test_families_in_order)
{
    static const char *const names[] = {"a", "b", "a"};
    struct ocv_tag_rules *rules = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    for (size_t i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "schema: dev.ocivariant.tags/v1\nfamily: %s\nrepositories: [a.example/b]\n"
                 "parts:\n- {match: a}\n",
                 names[i]);
        ck_assert_int_eq(ocv_tag_rules_add(rules, "r.yaml", text, strlen(text), NULL, &err),
                         OCV_OK);
    }
    ck_assert_uint_eq(ocv_tag_rules_count(rules), 2);
    ck_assert_str_eq(rules->families[0]->name, "b");
    ck_assert_str_eq(rules->families[1]->name, "a");
    ocv_tag_rules_free(rules);
}
END_TEST

static char *family_of(const struct ocv_tag_rules *rules, const char *text)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ck_assert_int_eq(ocv_reference_parse(text, &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, reference, NULL, &tag, NULL), OCV_OK);
    char *out = NULL;
    const char *backend = ocv_tag_group_value(tag, "backend"), *family = ocv_tag_family(tag);
    ck_assert_int_ge(asprintf(&out, "%s %s %s", ocv_tag_reference(tag), family ? family : "-",
                              backend ? backend : "-"),
                     0);
    return out;
}

static const struct {
    const char *reference, *said; /* its name, the family, the group from the repository's name */
} mirrored[] = {
    {"m.example:5000/demo/app:1.9", "m.example:5000/demo/app:1.9 demo -"},
    {"m.example:5000/demo/app-rocm:1.9", "m.example:5000/demo/app-rocm:1.9 demo rocm"},
    {"M.Example:5000/demo/app:1.9", "M.Example:5000/demo/app:1.9 demo -"},
    {"n.example/x/app:1.9", "n.example/x/app:1.9 demo -"},
    {"demo/app:1.9", "docker.io/demo/app:1.9 demo -"},
    {"m.example/demo/app:1.9", "m.example/demo/app:1.9 - -"},
    {"n.example/demo/app:1.9", "n.example/demo/app:1.9 demo -"},
    {"r.example/x/app:1.9", "r.example/x/app:1.9 demo -"},
};

/* A registry that stands in for another has its repositories. */
START_TEST(test_mirror)
{
    ocv_auto(ocv_reference) only = NULL;
    ck_assert_int_eq(ocv_reference_parse(mirrored[_i].reference, &only, NULL), OCV_OK);
    for (int filtered = 0; filtered < 2; filtered++) {
        ocv_auto(ocv_tag_rules) rules = NULL;
        ck_assert_int_eq(ocv_tag_rules_new(&rules, NULL), OCV_OK);
        ck_assert_int_eq(ocv_tag_rules_mirror(rules, "m.Example:5000", "Index.Docker.IO", NULL),
                         OCV_OK);
        ck_assert_int_eq(ocv_tag_rules_mirror(rules, "n.example", "Docker.io", NULL), OCV_OK);
        ck_assert_int_eq(ocv_tag_rules_mirror(rules, "n.example", "R.example", NULL), OCV_OK);
        ck_assert_int_eq(ocv_tag_rules_add(rules, "r.yaml", rules_text, sizeof(rules_text) - 1,
                                           filtered ? only : NULL, NULL),
                         OCV_OK);
        char *said = family_of(rules, mirrored[_i].reference);
        ck_assert_str_eq(said, mirrored[_i].said);
        free(said);
    }
}
END_TEST

START_TEST(test_mirror_wrong)
{
    static const char *const names[] = {"", "docker.io/x", "https://docker.io", "a b.c",
                                        "docker.io:x"};
    ocv_auto(ocv_tag_rules) rules = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, NULL), OCV_OK);
    int status = ocv_tag_rules_mirror(rules, "m.example", names[_i], &err);
    ck_assert_msg(status == OCV_ERR_INVALID, "%s: %d %s", names[_i], status, err.message);
    ck_assert_ptr_nonnull(strstr(err.message, "is not the name of a registry"));
    /* what mirrors may be a part of a registry */
    ck_assert_int_eq(ocv_tag_rules_mirror(rules, names[_i], "docker.io", NULL),
                     strchr(names[_i], '/') && !strchr(names[_i], ':') ? OCV_OK : OCV_ERR_INVALID);
}
END_TEST

START_TEST(test_versions)
{
    static const char *const ascending[] = {"0.9",     "1.0rc1", "1.0",    "1.0.1", "1.2",
                                            "1.10rc2", "1.10",   "1.10.1", "2"};
    size_t n = sizeof(ascending) / sizeof(*ascending);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            int order = ocv_tag_version_compare(ascending[i], ascending[k]);
            ck_assert_msg((order > 0) - (order < 0) == (i > k) - (i < k), "%s %s", ascending[i],
                          ascending[k]);
        }
    ck_assert_int_eq(ocv_tag_version_compare("1.07", "1.7"), 0);
}
END_TEST

START_TEST(test_globs)
{
    ck_assert(ocv_tag_glob("docker.io/a/*", "docker.io/a/b"));
    ck_assert(!ocv_tag_glob("docker.io/a/*", "docker.io/a/b/c"));
    ck_assert(ocv_tag_glob("docker.io/**", "docker.io/a/b/c"));
    ck_assert(ocv_tag_glob("**/app", "r/x/y/app"));
    ck_assert(!ocv_tag_glob("**/app", "r/x/y/apps"));
    ck_assert(ocv_tag_glob("r/app-*-cpu", "r/app-x-cpu"));
    ck_assert(!ocv_tag_glob("", "x"));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tags");
    TCase *tcase = tcase_create("tags");
    tcase_add_loop_test(tcase, test_parse, 0, sizeof(parsed) / sizeof(*parsed));
    tcase_add_loop_test(tcase, test_wrong, 0, sizeof(wrong) / sizeof(*wrong));
    tcase_add_test(tcase, test_families_in_order);
    tcase_add_loop_test(tcase, test_mirror, 0, sizeof(mirrored) / sizeof(*mirrored));
    tcase_add_loop_test(tcase, test_mirror_wrong, 0, 5);
    tcase_add_test(tcase, test_versions);
    tcase_add_test(tcase, test_globs);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
