/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/tags: rule files, what a tag says, which tags stand for a name. */
#include "lib/tags/tag_plan.h"
#include "lib/tags/tags_internal.h"

#include "test/unit/core_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rules_text[] =
    "schema: dev.ocivariant.tags/v1\n"
    "notations:\n"
    "  cuda:\n"
    "    - {match: 'cuda-?([0-9]+)', gives: ['nvidia :: cuda_version_lower_bound :: \\1.0']}\n"
    "    - {match: 'cuda-?([0-9]+)\\.([0-9]+)(\\.[0-9]+)*',\n"
    "       gives: ['nvidia :: cuda_version_lower_bound :: \\1.\\2']}\n"
    "    - {match: 'cu([0-9]+)([0-9])',\n"
    "       gives: ['nvidia :: cuda_version_lower_bound :: \\1.\\2']}\n"
    "family: demo\n"
    "repositories:\n"
    "  - docker.io/demo/app\n"
    "  - 'r.example/**/app'\n"
    "  - {match: 'docker\\.io/demo/app-(rocm|cpu)', kind: device, group: {backend: '\\1'}}\n"
    "parts:\n"
    "  - {use: cuda, kind: device}\n"
    "  - {match: '86|hopper', first: true, kind: device, gives: ['nvidia :: sm_arch :: 86_real']}\n"
    "  - {match: 'v?[0-9]+(\\.[0-9]+)*(rc[0-9]+)?', group: version}\n"
    "  - {match: 'py([0-9])\\.?([0-9]+)', group: {python: '\\1.\\2'}}\n"
    "  - {match: 'arm64|aarch64', platform: linux/arm64}\n"
    "  - {match: 'x86_64', platform: linux/amd64}\n"
    "  - {match: 'sbsa([0-9.]+)', group: {version: '\\1'}, platform: linux/arm64}\n"
    "  - {match: 'old([0-9.]+)', group: {version: '\\1'}, ignore: true}\n"
    "  - {match: 'lib[a-z]', kind: lib, repeat: true, ignore: true}\n"
    "  - {match: 'cpu', kind: device}\n"
    "  - {match: 'cudnn[0-9]*', ignore: true}\n"
    "  - {match: 'driver', refuse: 'a driver image'}\n"
    "defaults:\n"
    "  - {missing: device, where: {version: '1\\..*'}, gives: ['nvidia :: sm_arch :: 80_real']}\n"
    "  - {missing: device, gives: ['nvidia :: sm_arch :: 90_real']}\n"
    "group_tags: ['{version}', '{version}-py{python}']\n"
    "prefer: {python: newest}\n";

static struct ocv_tag_rules *rules_of(const char *text)
{
    struct ocv_tag_rules *rules = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    int status = ocv_tag_rules_add(rules, "r.yaml", text, strlen(text), NULL, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return rules;
}

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
    {FAMILY "cuda: major\n", "r.yaml:5: 'cuda' must be minor or strict, or a list"},
    {FAMILY "cuda: {minor: true}\n", "r.yaml:5: 'cuda' must be minor or strict, or a list"},
    {FAMILY "cuda:\n- {minor: yes}\n", "r.yaml:6: 'minor' must be true or false, not 'yes'"},
    {FAMILY "cuda:\n- {sm: [90_real]}\n", "r.yaml:6: unknown key 'sm' of a table"},
    {FAMILY "cuda:\n- {sm_arch: all}\n", "r.yaml:6: 'sm_arch' must be any, or a list of 1 to 32"},
    {FAMILY "cuda:\n- {sm_arch: []}\n", "r.yaml:6: 'sm_arch' must be any, or a list of 1 to 32"},
    {FAMILY "cuda:\n- {sm_arch: [sm_90]}\n", "r.yaml:6: 'sm_90' must be NN_real"},
    {FAMILY "cuda:\n- {sm_arch: [90]}\n", "r.yaml:6: '90' must be NN_real"},
    {FAMILY "cuda:\n- {sm_arch: [90a_virtual]}\n", "r.yaml:6: '90a_virtual' must be NN_real"},
    {FAMILY "cuda:\n- {toolkit: '12('}\n", "r.yaml:6"},
    {FAMILY "cuda:\n- {platform: amd64}\n", "r.yaml:6: 'platform' is not OS/ARCHITECTURE"},
    {FAMILY "cuda:\n- {where: {version: '1.*'}}\n",
     "r.yaml:6: 'version' is a group that nothing gives"},
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
     "r.yaml:7: 'pyton' is a group that nothing gives"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\nprefer:\n  tag: shortest\n  os: newest\n",
     "r.yaml:8: 'os' is a group that nothing gives"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n"
     "- {match: a, group: version}\ndefaults:\n- {where: {verison: a}, refuse: b}\n",
     "r.yaml:7: 'verison' is a group that nothing gives"},
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
     "newest, oldest or a list"},
    {"schema: dev.ocivariant.tags/v1\nfamily: x\nrepositories: [a/b]\nparts:\n- {match: a}\n"
     "separators: '_-.'\n",
     "the dash first, not '_-.'"},
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

START_TEST(test_plan)
{
    static const char *const tags[] = {
        "1.9",     "86-1.9",        "1.9-cu128-py311", "1.9-cu128-py312",
        "1.9-cpu", "1.9-cpu-arm64", "1.9-what",        "driver-1.9",
        "1.8-cpu", "86-2.0",        "hopper-2.0",      "1.9-cu128-py312"}; /* one of them twice */
    ocv_auto(ocv_tag_rules) rules = rules_of(rules_text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    const char *label, *reason, *const *doubts;
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_plan_new(rules, reference, "1.9", tags, 12, &plan, NULL), OCV_OK);
    ck_assert_uint_eq(ocv_tag_plan_sets(plan), 1);
    ck_assert_str_eq(ocv_tag_plan_name(plan, 0), "1.9");
    ck_assert_uint_eq(ocv_tag_plan_doubts(plan, 0, NULL), 0);
    /* in the order of platform and properties: the newest python of those that say the same */
    static const char *const members[][2] = {{"1.9-cpu-arm64", "null"},
                                             {"1.9-cpu", "null"},
                                             {"1.9-cu128-py312", "1.9_cu128_py312"},
                                             {"1.9", "1.9"},
                                             {"86-1.9", "86_1.9"}};
    ck_assert_uint_eq(ocv_tag_plan_members(plan, 0), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct ocv_tag *tag = ocv_tag_plan_member(plan, 0, i, &label);
        ck_assert_str_eq(ocv_tag_text(tag), members[i][0]);
        ck_assert_str_eq(label, members[i][1]);
    }
    ck_assert_uint_eq(ocv_tag_plan_left_out(plan), 3);
    ck_assert_str_eq(ocv_tag_text(ocv_tag_plan_left(plan, 0, &reason)), "1.9-cu128-py311");
    ck_assert_str_eq(reason, "says the same as 1.9-cu128-py312, which is preferred");
    ck_assert_str_eq(ocv_tag_text(ocv_tag_plan_left(plan, 1, &reason)), "1.9-what");
    ck_assert_str_eq(reason, "unknown part 'what'");
    ck_assert_str_eq(ocv_tag_text(ocv_tag_plan_left(plan, 2, &reason)), "driver-1.9");
    ck_assert_str_eq(reason, "a driver image");
    ocv_tag_plan_free(plan);
    plan = NULL;
    /* the whole repository: 1.8 has nothing to choose; 86 and hopper of 2.0 say the same */
    ck_assert_int_eq(ocv_tag_plan_new(rules, reference, NULL, tags, 12, &plan, NULL), OCV_OK);
    ck_assert_uint_eq(ocv_tag_plan_sets(plan), 2);
    ck_assert_str_eq(ocv_tag_plan_name(plan, 1), "2.0");
    ck_assert_uint_eq(ocv_tag_plan_members(plan, 1), 0);
    ck_assert_uint_eq(ocv_tag_plan_doubts(plan, 1, &doubts), 1);
    ck_assert_str_eq(doubts[0], "86-2.0 and hopper-2.0 say the same");
    /* every tag is in a set, named by a doubt, or left out with its reason */
    ck_assert_uint_eq(ocv_tag_plan_left_out(plan), 4);
    ck_assert_str_eq(ocv_tag_text(ocv_tag_plan_left(plan, 0, &reason)), "1.8-cpu");
    ck_assert_str_eq(reason, "nothing to choose: no other tag is of its group");
}
END_TEST

/* Of two tags that say the same the preferred one is taken. */
static const struct {
    const char *prefer, *a, *b, *taken; /* NULL: none */
} preferred[] = {
    {"{date: newest}", "1-big-d9", "1-big-d10", "1-big-d10"},
    {"{date: oldest}", "1-big-d9", "1-big-d10", "1-big-d9"},
    {"{date: newest}", "1-big", "1-big-d10", "1-big"},
    {"{date: oldest}", "1-big", "1-big-d10", "1-big"},
    {"{flavor: [runtime, devel]}", "1-big-devel", "1-big-runtime", "1-big-runtime"},
    {"{flavor: [runtime, devel]}", "1-big-base", "1-big-devel", "1-big-devel"},
    {"{flavor: [runtime], date: newest}", "1-big-base-d1", "1-big-devel-d2", "1-big-devel-d2"},
    {"{tag: shortest}", "1-big", "1-large", "1-big"},
    {"{date: newest}", "1-big", "1-large", NULL},
};

START_TEST(test_prefer)
{
    char text[1024];
    const char *taken = NULL;
    snprintf(text, sizeof(text),
             "schema: dev.ocivariant.tags/v1\n"
             "family: demo\n"
             "repositories: [docker.io/demo/app]\n"
             "parts:\n"
             "  - {match: 'd([0-9]+)', group: {date: '\\1'}}\n"
             "  - {match: 'base|runtime|devel', group: flavor}\n"
             "  - {match: 'big|large', gives: ['nvidia :: sm_arch :: 90_real']}\n"
             "  - {match: 'cpu', kind: device}\n"
             "  - {match: '[0-9.]+', group: version}\n"
             "group_tags: ['{version}']\n"
             "prefer: %s\n",
             preferred[_i].prefer);
    const char *const tags[] = {preferred[_i].a, "1-cpu", preferred[_i].b};
    ocv_auto(ocv_tag_rules) rules = rules_of(text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_plan_new(rules, reference, "1", tags, 3, &plan, NULL), OCV_OK);
    ck_assert_uint_eq(ocv_tag_plan_sets(plan), 1);
    for (size_t i = 0; i < ocv_tag_plan_members(plan, 0); i++) {
        const struct ocv_tag *tag = ocv_tag_plan_member(plan, 0, i, NULL);
        if (ocv_properties_count(ocv_tag_properties(tag)))
            taken = ocv_tag_text(tag);
    }
    ck_assert_str_eq(taken ? taken : "", preferred[_i].taken ? preferred[_i].taken : "");
    ck_assert_uint_eq(ocv_tag_plan_doubts(plan, 0, NULL), preferred[_i].taken ? 0 : 1);
}
END_TEST

/* Without a property there is nothing to choose by. */
START_TEST(test_no_variants)
{
    static const char *const tags[] = {"1.9-cpu", "1.9-cpu-arm64"};
    ocv_auto(ocv_tag_rules) rules = rules_of(rules_text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_plan_new(rules, reference, NULL, tags, 2, &plan, NULL), OCV_OK);
    ck_assert_uint_eq(ocv_tag_plan_sets(plan), 0);
    ck_assert_uint_eq(ocv_tag_plan_left_out(plan), 2);
}
END_TEST

/* Labels are made of tags, and stay labels that tell the tags apart. */
START_TEST(test_labels)
{
    static const char text[] = "schema: dev.ocivariant.tags/v1\n"
                               "family: demo\n"
                               "repositories: [docker.io/demo/app]\n"
                               "parts:\n"
                               "  - {match: 'A', gives: ['nvidia :: sm_arch :: 86_real']}\n"
                               "  - {match: 'a', gives: ['nvidia :: sm_arch :: 90_real']}\n"
                               "  - {match: 'x+', gives: ['nvidia :: sm_arch :: 80_real']}\n"
                               "  - {match: 'x+y', gives: ['nvidia :: sm_arch :: 75_real']}\n"
                               "  - {match: '[0-9.]+', group: version}\n"
                               "group_tags: ['{version}']\n";
    static const char *const tags[] = {
        "1.9-A", "1.9-a", "1.9-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "1.9-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy"};
    const char *labels[4];
    size_t plain = 0;
    ocv_auto(ocv_tag_rules) rules = rules_of(text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_plan_new(rules, reference, "1.9", tags, 4, &plan, NULL), OCV_OK);
    ck_assert_uint_eq(ocv_tag_plan_members(plan, 0), 4);
    for (size_t i = 0; i < 4; i++) {
        ocv_tag_plan_member(plan, 0, i, &labels[i]);
        ck_assert_msg(ocv_label_valid(labels[i], strlen(labels[i])), "%s", labels[i]);
        plain += !strcmp(labels[i], "1.9_a");
        /* what is cut says so, whether another is like it or not */
        ck_assert_msg(strncmp(labels[i], "1.9_x", 5) != 0 ||
                          labels[i][strlen(labels[i]) - 9] == '_',
                      "%s", labels[i]);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(labels[i], labels[k]);
    }
    ck_assert_uint_eq(plain, 1);
}
END_TEST

START_TEST(test_names_group)
{
    static const struct {
        const char *tag;
        bool group;
    } cases[] = {{"1.9", true},        {"1.9-py3.12", true},  {"86-1.9", false},
                 {"1.9-what", false},  {"1.9-cpu", false},    {"1.9-py312", true},
                 {"1.9-arm64", false}, {"1.9-cudnn9", false}, {"sbsa1.9", false},
                 {"old1.9", false},    {"driver-1.9", false}};
    ocv_auto(ocv_tag_rules) rules = rules_of(rules_text);
    ocv_auto(ocv_reference) reference = NULL;
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_auto(ocv_tag) tag = NULL;
        ck_assert_int_eq(ocv_tag_parse(rules, reference, cases[i].tag, &tag, NULL), OCV_OK);
        ck_assert_msg(ocv_tag_names_group(tag) == cases[i].group, "%s", cases[i].tag);
    }
}
END_TEST

START_TEST(test_index)
{
    static const char body[] =
        "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
        "\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":"
        "\"sha256:1111111111111111111111111111111111111111111111111111111111111111\",\"size\":7,"
        "\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}},{\"mediaType\":"
        "\"application/vnd.oci.image.manifest.v1+json\",\"digest\":"
        "\"sha256:2222222222222222222222222222222222222222222222222222222222222222\",\"size\":8,"
        "\"platform\":{\"os\":\"unknown\",\"architecture\":\"unknown\"}}]}";
    ocv_auto(ocv_tag_rules) rules = rules_of(rules_text);
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) a = NULL;
    ocv_auto(ocv_tag) b = NULL;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer json;
    struct ocv_error err = {0};
    ocv_buffer_init(&json, 65536);
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, reference, "86-1.9", &a, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, reference, "1.9-cpu", &b, NULL), OCV_OK);
    struct ocv_tag_candidate c[] = {
        {.tag = a,
         .label = "86_1.9",
         .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 9},
         .platform = "linux/amd64"},
        {.tag = b,
         .label = "null",
         .descriptor = {.media_type = OCV_MEDIA_TYPE_INDEX, .size = sizeof(body) - 1},
         .body = body,
         .body_len = sizeof(body) - 1}};
    memset(c[0].descriptor.digest, '3', 71);
    memcpy(c[0].descriptor.digest, "sha256:", 7);
    ck_assert_msg(ocv_tag_index(c, 2, &json, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(ocv_index_parse(json.data, json.len, OCV_MEDIA_TYPE_INDEX, &index, &err),
                     OCV_OK);
    ck_assert_uint_eq(ocv_index_count(index), 2);
    ck_assert(ocv_index_has_variants(index));
    const struct ocv_entry *e = ocv_index_entry(index, 0);
    ck_assert_str_eq(e->label, "86_1.9");
    ck_assert_str_eq(e->platform.architecture, "amd64");
    e = ocv_index_entry(index, 1);
    ck_assert_str_eq(e->label, "null");
    ck_assert_str_eq(e->platform.architecture, "arm64");
    ck_assert_int_eq(e->size, 7);
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
    ck_assert_int_eq(ocv_tag_rules_mirror(rules, names[_i], "docker.io", NULL), OCV_ERR_INVALID);
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

int main(void)
{
    Suite *suite = suite_create("tags");
    TCase *tcase = tcase_create("tags");
    tcase_add_loop_test(tcase, test_parse, 0, sizeof(parsed) / sizeof(*parsed));
    tcase_add_loop_test(tcase, test_wrong, 0, sizeof(wrong) / sizeof(*wrong));
    tcase_add_test(tcase, test_families_in_order);
    tcase_add_test(tcase, test_plan);
    tcase_add_loop_test(tcase, test_prefer, 0, sizeof(preferred) / sizeof(*preferred));
    tcase_add_test(tcase, test_no_variants);
    tcase_add_test(tcase, test_labels);
    tcase_add_test(tcase, test_names_group);
    tcase_add_test(tcase, test_index);
    tcase_add_loop_test(tcase, test_mirror, 0, sizeof(mirrored) / sizeof(*mirrored));
    tcase_add_loop_test(tcase, test_mirror_wrong, 0, 5);
    tcase_add_test(tcase, test_versions);
    tcase_add_test(tcase, test_globs);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
