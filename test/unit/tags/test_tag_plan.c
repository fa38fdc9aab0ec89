/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/tags: which tags stand for a name, and the index that they make. */
#include "test/unit/tags/tags_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    ck_assert_str_eq(reason, "nothing to choose: no other tag is in its group");
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
    ck_assert_msg(ocv_tag_index(c, 2, OCV_TAG_UNREAD_OUT, NULL, &json, &err) == OCV_OK, "%s",
                  err.message);
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

TEST_FILE
{
    Suite *suite = suite_create("tag plan");
    TCase *tcase = tcase_create("tag plan");
    tcase_add_test(tcase, test_plan);
    tcase_add_loop_test(tcase, test_prefer, 0, sizeof(preferred) / sizeof(*preferred));
    tcase_add_test(tcase, test_no_variants);
    tcase_add_test(tcase, test_labels);
    tcase_add_test(tcase, test_names_group);
    tcase_add_test(tcase, test_index);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
