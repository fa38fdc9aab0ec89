/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every rule of schema/lint-rules.yaml finds something in its bad example, and nothing at all is
 * found in its good one; corrections. */
#include "test/unit/lint/lint_util.h"

/* A level that contradicts stands where no level should be. */
static bool goes_with(const char *id, const char *other)
{
    return !strcmp(id, "OCV207") && !strcmp(other, "OCV508");
}

/* As in a repository that enables the rule: some are off by default. */
static void lint_enabled(const struct ocv_lint_rule *rule, const char *text,
                         struct ocv_lint_report *report)
{
    char settings[64];
    ocv_auto(ocv_lint_config) config = NULL;
    struct ocv_error err = {0};
    snprintf(settings, sizeof(settings), "enable: [%s]\n", rule->id);
    ck_assert_msg(ocv_lint_config_read("settings", settings, strlen(settings), &config, &err) ==
                      OCV_OK,
                  "%s", err.message);
    *report = (struct ocv_lint_report){0};
    lint_with(text, config, report);
}

/* The bad example shows its rule, and no other fault that a reader would have to think away. */
START_TEST(bad_example_is_found)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct ocv_lint_report report;
    lint_enabled(rule, rule->bad, &report);
    const struct ocv_lint_finding *found = find(&report, rule->id);
    ck_assert_msg(found != NULL, "%s finds nothing in\n%s", rule->id, rule->bad);
    ck_assert_msg(rule->fix == OCV_LINT_FIX_NO || (found->hint && *found->hint),
                  "%s does not say what to do", rule->id);
    for (size_t i = 0; i < report.n; i++) {
        const char *id = report.findings[i].rule->id;
        ck_assert_msg(!strcmp(id, rule->id) || goes_with(rule->id, id),
                      "%s: its bad example has %s, too: %s\n%s", rule->id, id,
                      report.findings[i].message, rule->bad);
    }
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(off_means_off)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct ocv_lint_report report;
    lint(rule->bad, &report);
    ck_assert_msg((find(&report, rule->id) != NULL) == (rule->level != OCV_LINT_OFF), "%s",
                  rule->id);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(good_example_is_clean)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct ocv_lint_report report;
    lint_enabled(rule, rule->good, &report);
    if (report.n)
        ck_abort_msg("%s: its good example has %s: %s\n%s", rule->id, report.findings[0].rule->id,
                     report.findings[0].message, rule->good);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(fix_removes_the_finding)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct example *e = example_read(rule->bad);
    struct ocv_error err = {0};
    size_t changes = 0, again = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer more;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&more, OCV_MANIFEST_MAX);
    ocv_auto_buffer moved;
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    if (rule->fix == OCV_LINT_FIX_WRITE) {
        struct ocv_lint_report report = {0};
        struct ocv_lint_input input = {.name = "fixed", .file = true};
        ck_assert_msg(ocv_lint_fix(e->input.bytes, e->input.len, true, &out, &changes, NULL, &moved,
                                   &err) == OCV_OK,
                      "%s: %s", rule->id, err.message);
        ck_assert_msg(changes > 0, "%s: nothing changed", rule->id);
        input.bytes = out.data;
        input.len = out.len;
        ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, &err), OCV_OK);
        ck_assert_msg(find(&report, rule->id) == NULL, "%s is still there:\n%s", rule->id,
                      out.data);
        ck_assert_int_eq(ocv_lint_fix(out.data, out.len, false, &more, &again, NULL, &moved, &err),
                         OCV_OK);
        ck_assert_msg(again == 0, "%s: a second run changes more:\n%s", rule->id, more.data);
        ocv_lint_report_free(&report);
    }
    example_free(e);
}
END_TEST

START_TEST(good_example_needs_no_fix)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct example *e = example_read(rule->good);
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    if (e->input.bytes)
        ck_assert_int_eq(
            ocv_lint_fix(e->input.bytes, e->input.len, false, &out, &changes, NULL, &moved, NULL),
            OCV_OK);
    ck_assert_msg(changes == 0, "%s:\n%s", rule->id, out.data);
    example_free(e);
}
END_TEST

/* A correction that shows another: the level that becomes a property brings its namespace. */
START_TEST(fix_is_complete)
{
    struct example *e = example_read("@namespaces habana\nlinux/amd64 null\n"
                                     "linux/amd64/v3 a habana :: arch :: gaudi3\n");
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    ck_assert_int_eq(
        ocv_lint_fix(e->input.bytes, e->input.len, false, &out, &changes, NULL, &moved, NULL),
        OCV_OK);
    ck_assert_msg(strstr(out.data, "\"habana, x86_64\"") &&
                      strstr(out.data, "\"habana :: arch :: gaudi3, x86_64 :: level :: v3\"") &&
                      strstr(out.data, "\"x-a\""),
                  "%s", out.data);
    example_free(e);
}
END_TEST

#define HEX64 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEPT                                                                        \
    "{ \"size\":2 , \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},\n " \
    "\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\", \"digest\" :\"sha256:" HEX64 "\"}"

/* What is not corrected keeps its bytes, and what is has the manner of the document. */
START_TEST(fix_keeps_bytes)
{
    static const char before[] =
        "{\n  \"schemaVersion\" : 2,\n  \"manifests\": [\n    {\n      \"mediaType\": "
        "\"" OCV_MEDIA_TYPE_MANIFEST "\",\n      \"digest\": \"sha256:" HEX64 "\",\n"
        "      \"size\": 2,\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"amd64\", "
        "\"variant\": \"x-a\"},\n      \"annotations\": {\"" OCV_ANNOTATION_LABEL
        "\": \"a\", \"" OCV_ANNOTATION_PROPERTIES "\": \"habana::arch::gaudi3\"}\n    },\n    " KEPT
        "\n  ],\n  \"other\":  null }\n";
    static const char after[] =
        "{\n  \"schemaVersion\" : 2,\n  \"manifests\": [\n    " KEPT
        ",\n    {\n      \"mediaType\": "
        "\"" OCV_MEDIA_TYPE_MANIFEST "\",\n      \"digest\": \"sha256:" HEX64 "\",\n"
        "      \"size\": 2,\n      \"platform\": {\n        \"os\": \"linux\",\n        "
        "\"architecture\": \"amd64\",\n        \"variant\": \"x-a\"\n      },\n"
        "      \"annotations\": {\n        \"" OCV_ANNOTATION_LABEL
        "\": \"a\",\n        \"" OCV_ANNOTATION_PROPERTIES
        "\": \"habana :: arch :: gaudi3\"\n      }\n    }\n  ],\n  \"other\":  null,\n"
        "  \"annotations\": {\n    \"" OCV_ANNOTATION_SCHEMA
        "\": \"1\",\n    \"" OCV_ANNOTATION_NAMESPACES "\": \"habana\"\n  },\n"
        "  \"mediaType\": \"" OCV_MEDIA_TYPE_INDEX "\" }\n";
    size_t changes = 0;
    struct ocv_error err = {0};
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    int status = ocv_lint_fix(before, strlen(before), false, &out, &changes, NULL, &moved, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_str_eq(out.data, after);
    ck_assert_uint_eq(changes, 5); /* type, schema, namespaces, properties, order */
}
END_TEST

/* A Docker list is corrected, too, and stays in one line. */
START_TEST(fix_takes_a_docker_list)
{
    static const char before[] =
        "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_DOCKER_LIST
        "\",\"manifests\":[{\"mediaType\":\"" OCV_MEDIA_TYPE_DOCKER_MANIFEST
        "\",\"digest\":\"sha256:" HEX64 "\",\"size\":2,\"platform\":{\"os\":\"linux\","
        "\"architecture\":\"amd64\",\"variant\":\"v1\"}}]}";
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    ck_assert_int_eq(
        ocv_lint_fix(before, strlen(before), false, &out, &changes, NULL, &moved, NULL), OCV_OK);
    ck_assert_uint_eq(changes, 1);
    ck_assert(strstr(out.data, "{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}"));
    ck_assert_uint_eq(out.len, strlen(before) - strlen(",\"variant\":\"v1\""));
}
END_TEST

/* What clients that know nothing of variants get; whether it stays so unless it is asked for. */
static const struct {
    const char *before, *moved;   /* "": nothing */
    const char *platforms, *told; /* of the entries afterwards: by itself, and when told to */
} default_cases[] = {
    /* builds that wait for their annotations, as a builder leaves them: the ROCm build first */
    {"linux/amd64/x-rocm7-1 -\nlinux/amd64 -\nlinux/amd64/x-cuda12-8 -\n", "",
     "- x-rocm7-1 x-cuda12-8", "- x-rocm7-1 x-cuda12-8"},
    {"linux/amd64/x-a -\nlinux/amd64/x-b -\n", "", "x-a x-b", "x-a x-b"},
    {"linux/amd64/x-null null\nlinux/amd64/x-a a habana :: arch :: gaudi3\n", "", "x-null x-a",
     "x-null x-a"},
    /* the variant is what they get today */
    {"linux/amd64 a habana :: arch :: gaudi3\nlinux/amd64 -\n", "linux/amd64: ", "- -", "- x-a"},
    {"linux/amd64 a habana :: arch :: gaudi3\n", "linux/amd64: no image instead of ", "-", "x-a"},
    {"linux/amd64 -\nlinux/amd64 a habana :: arch :: gaudi3\n", "", "- x-a", "- x-a"},
    {"linux/arm/v6 a habana :: arch :: gaudi3\nlinux/arm/v7 -\n", "linux/arm/v6: no image instead",
     "v6 v7", "v7 x-a"},
    {"linux/amd64/v1 -\nlinux/amd64/v3 a habana :: arch :: gaudi3\n", "", "- x-a", "- x-a"},
};

static void assert_platforms(const char *bytes, size_t len, const char *expected)
{
    ocv_auto(ocv_index) index = NULL;
    char text[256] = "";
    ck_assert_int_eq(ocv_index_parse(bytes, len, NULL, &index, NULL), OCV_OK);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const char *variant = ocv_index_entry(index, i)->platform.variant;
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", variant ? variant : "-");
    }
    ck_assert_str_eq(text, expected);
}

START_TEST(fix_keeps_what_older_clients_get)
{
    struct example *e = example_read(default_cases[_i].before);
    for (int told = 0; told < 2; told++) {
        size_t changes = 0;
        ocv_auto_buffer out;
        ocv_auto_buffer moved;
        ocv_buffer_init(&out, OCV_MANIFEST_MAX);
        ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
        ck_assert_int_eq(
            ocv_lint_fix(e->input.bytes, e->input.len, told, &out, &changes, NULL, &moved, NULL),
            OCV_OK);
        const char *bytes = changes ? out.data : e->input.bytes;
        assert_platforms(bytes, changes ? out.len : e->input.len,
                         told ? default_cases[_i].told : default_cases[_i].platforms);
        const char *said = default_cases[_i].moved;
        ck_assert_msg(*said ? moved.data && strstr(moved.data, said) : moved.len == 0, "%s",
                      moved.data);
    }
    example_free(e);
}
END_TEST

START_TEST(table_is_complete)
{
    size_t groups[10] = {0};
    ck_assert_uint_ge(OCV_LINT_RULES, 40);
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        groups[rule->id[3] - '0']++;
        ck_assert_ptr_eq(ocv_lint_rule_find(rule->id), rule);
        ck_assert_ptr_eq(ocv_lint_rule_find(rule->name), rule);
        ck_assert_str_ne(rule->bad, rule->good);
    }
    for (int g = 1; g <= 6; g++)
        ck_assert_uint_gt(groups[g], 0);
    ck_assert_ptr_null(ocv_lint_rule_find("OCV999"));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("lint");
    TCase *tcase = tcase_create("lint");
    tcase_add_unchecked_fixture(tcase, read_rules, free_rules);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, bad_example_is_found, 0, OCV_LINT_RULES);
    tcase_add_loop_test(tcase, off_means_off, 0, OCV_LINT_RULES);
    tcase_add_loop_test(tcase, good_example_is_clean, 0, OCV_LINT_RULES);
    tcase_add_loop_test(tcase, fix_removes_the_finding, 0, OCV_LINT_RULES);
    tcase_add_loop_test(tcase, good_example_needs_no_fix, 0, OCV_LINT_RULES);
    tcase_add_test(tcase, table_is_complete);
    tcase_add_test(tcase, fix_is_complete);
    tcase_add_test(tcase, fix_keeps_bytes);
    tcase_add_test(tcase, fix_takes_a_docker_list);
    tcase_add_loop_test(tcase, fix_keeps_what_older_clients_get, 0,
                        sizeof(default_cases) / sizeof(*default_cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
