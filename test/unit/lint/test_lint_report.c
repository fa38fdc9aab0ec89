/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places, settings, input and formats. */
#include "test/unit/lint/lint_util.h"

START_TEST(places)
{
    static const char text[] = "{\n  \"a\": [1, {\"x/y\": \"\\\"}\", \"b\": [ ]},\n"
                               "    {\"z~\":\n      true}],\n  \"c\": {}\n}\n";
    static const struct {
        const char *pointer;
        size_t line, column;
    } cases[] = {{"", 1, 1},           {"/a", 2, 3},      {"/a/0", 2, 9},     {"/a/1", 2, 12},
                 {"/a/1/x~1y", 2, 13}, {"/a/1/b", 2, 27}, {"/a/2/z~0", 3, 6}, {"/c", 5, 3},
                 {"/a/2/none", 3, 5},  {"/none/x", 1, 1}, {"/a/9", 2, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t line = 0, column = 0;
        ocv_lint_locate(text, strlen(text), cases[i].pointer, &line, &column);
        ck_assert_msg(line == cases[i].line && column == cases[i].column, "%s: %zu:%zu",
                      cases[i].pointer, line, column);
    }
}
END_TEST

START_TEST(findings_have_lines)
{
    struct ocv_lint_report report;
    lint(ocv_lint_rule_find("OCV205")->bad, &report);
    const struct ocv_lint_finding *f = find(&report, "OCV205");
    ck_assert_str_eq(f->pointer, "/manifests/1/annotations/dev.ocivariant.properties");
    ck_assert_str_eq(f->where, "manifests[1] (hopper)");
    ck_assert_uint_gt(f->line, 10);
    ck_assert_uint_gt(f->column, 1);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(versions)
{
    ck_assert_int_lt(ocv_version_compare("12.8", "12.10"), 0);
    ck_assert_int_gt(ocv_version_compare("13", "12.10"), 0);
    ck_assert_int_eq(ocv_version_compare("12", "12.0"), 0);
    ck_assert_int_lt(ocv_version_compare("8a", "8.1a"), 0);
    ck_assert_int_lt(ocv_version_compare("8.6a", "9.0a"), 0);
    ck_assert_int_lt(ocv_version_compare("power9", "power10"), 0);
}
END_TEST

static struct ocv_lint_config *settings(const char *text)
{
    struct ocv_lint_config *config = NULL;
    struct ocv_error err = {0};
    int status = ocv_lint_config_read("lint.yaml", text, strlen(text), &config, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return config;
}

START_TEST(settings_decide)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_config *config =
        settings("disable: [OCV1xx, OCV501]\nenable: [schema-missing]\nlevel: {OCV503: error}\n"
                 "allow:\n  - {rule: OCV205, label: 'hop*', input: '*.json', reason: soon gone}\n");
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV102")), OCV_LINT_OFF);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV101")), OCV_LINT_WARNING);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV503")), OCV_LINT_ERROR);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV504")), OCV_LINT_ERROR);
    lint_with(ocv_lint_rule_find("OCV205")->bad, config, &report);
    ck_assert_uint_eq(report.allowed, 1);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 0);
    ck_assert_str_eq(find(&report, "OCV205")->allowed, "soon gone");
    ocv_lint_report_free(&report);
    lint_with(ocv_lint_rule_find("OCV105")->bad, config, &report);
    ck_assert_ptr_null(find(&report, "OCV105"));
    lint_with(ocv_lint_rule_find("OCV503")->bad, config, &report);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 1);
    ocv_lint_report_free(&report);
    ocv_lint_config_free(config);
}
END_TEST

/* An allowance is for what it names, and for nothing else. */
START_TEST(allowances_are_narrow)
{
    static const char *const others[] = {"label: 'cu*'", "input: '*.yaml'",
                                         "input: '*.json', label: 'cu*'"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        char text[128];
        struct ocv_lint_report report = {0};
        snprintf(text, sizeof(text), "allow: [{rule: OCV205, %s, reason: x}]\n", others[i]);
        struct ocv_lint_config *config = settings(text);
        lint_with(ocv_lint_rule_find("OCV205")->bad, config, &report);
        ck_assert_uint_eq(report.allowed, 0);
        ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 1);
        ck_assert_ptr_null(find(&report, "OCV205")->allowed);
        ocv_lint_report_free(&report);
        ocv_lint_config_free(config);
    }
}
END_TEST

START_TEST(settings_are_checked)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"enabel: [OCV101]\n", "lint.yaml:1: unknown key 'enabel'; did you mean 'enable'?"},
        {"\ndisable: [OCV999]\n", "lint.yaml:2: no rule or group 'OCV999'"},
        {"disable: OCV101\n", "lint.yaml:1: 'disable' must be a list, not 'OCV101'"},
        {"disable: [[OCV101]]\n", "lint.yaml:1: an item must be the id or name of a rule"},
        {"level: {OCV101: fatal}\n",
         "invalid value 'fatal' for OCV101: error, warning, note or off"},
        {"level: [OCV101]\n", "'level' must be a mapping"},
        {"allow: [{rule: OCV101}]\n", "an allowance lacks 'reason'"},
        {"allow: [{reason: because}]\n", "an allowance lacks 'rule'"},
        {"allow: [{rule: OCV999, reason: x}]\n", "no rule or group 'OCV999'"},
        {"allow: [{rule: OCV101, reason: x, until: 2030}]\n", "unknown key 'until' of an allow"},
        {"allow: [OCV101]\n", "'OCV101' must be a mapping"},
        {"- a\n", "lint.yaml:1: the file must be a mapping"},
        {"a: [\n", "lint.yaml:"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_lint_config *config = NULL;
        struct ocv_error err = {0};
        int status =
            ocv_lint_config_read("lint.yaml", cases[i].text, strlen(cases[i].text), &config, &err);
        ck_assert_int_eq(status, OCV_ERR_CONFIG);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "%s", err.message);
    }
    ocv_lint_config_free(settings(""));
}
END_TEST

START_TEST(unreadable_input)
{
    static const char *const texts[] = {"", "{", "[]", "{\"manifests\": 7}",
                                        "{\"manifests\": [], \"a\": 1, \"a\": 2}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ocv_lint_report report = {0};
        struct ocv_error err = {0};
        struct ocv_lint_input input = {
            .name = "x.json", .file = true, .bytes = texts[i], .len = strlen(texts[i])};
        ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, &err), OCV_ERR_DATA);
        ck_assert_msg(!strncmp(err.message, "x.json: ", 8), "%s", err.message);
        ck_assert_uint_eq(report.n, 0);
        ocv_lint_report_free(&report);
    }
}
END_TEST

START_TEST(size_is_judged_unread)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_input input = {.name = "x", .len = OCV_MANIFEST_MAX + 1};
    ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, NULL), OCV_OK);
    ck_assert_ptr_nonnull(find(&report, "OCV510"));
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(report_is_bounded)
{
    struct ocv_lint_report report = {0};
    struct example *e = example_read("linux/amd64 -\nlinux/amd64/x-a a habana :: arch :: gaudii\n");
    for (size_t i = 0; i < OCV_LINT_FINDINGS_MAX + 5; i++)
        ck_assert_int_eq(ocv_lint_run(&e->input, NULL, &report, NULL), OCV_OK);
    ck_assert_uint_eq(report.n, OCV_LINT_FINDINGS_MAX);
    ck_assert_uint_eq(report.dropped, 5);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], OCV_LINT_FINDINGS_MAX + 5);
    example_free(e);
    ocv_lint_report_free(&report);
}
END_TEST

static void format(const struct ocv_lint_report *report, enum ocv_lint_format how,
                   struct ocv_buffer *out)
{
    struct ocv_lint_failure failure = {"other.json", "other.json: 100% broken\nreally"};
    struct ocv_error err = {0};
    ocv_buffer_init(out, 16u * 1024 * 1024);
    ck_assert_msg(ocv_lint_format(report, how, &failure, 1, out, &err) == OCV_OK, "%s",
                  err.message);
}

START_TEST(formats)
{
    struct ocv_lint_report report;
    lint(ocv_lint_rule_find("OCV205")->bad, &report);
    ocv_auto_buffer text;
    ocv_auto_buffer json;
    ocv_auto_buffer sarif;
    ocv_auto_buffer github;
    format(&report, OCV_LINT_FORMAT_TEXT, &text);
    ck_assert_msg(strstr(text.data, "index.json:") && strstr(text.data, "[OCV205 value-unknown]") &&
                      strstr(text.data, "2 errors (1 unreadable), 0 warnings, 0 notes"),
                  "%s", text.data);
    format(&report, OCV_LINT_FORMAT_GITHUB, &github);
    ck_assert_msg(strstr(github.data, "::error file=index.json,line=") &&
                      strstr(github.data, "100%25 broken%0Areally"),
                  "%s", github.data);
    format(&report, OCV_LINT_FORMAT_JSON, &json);
    ocv_auto_json *root = json_loads(json.data, 0, NULL);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(root, "summary"), "errors")), 1);
    format(&report, OCV_LINT_FORMAT_SARIF, &sarif);
    ocv_auto_json *log = json_loads(sarif.data, 0, NULL);
    json_t *run = json_array_get(json_object_get(log, "runs"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(run, "results")), report.n);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(nothing_is_quoted_raw)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_input input = {.name = "a\033[31m.json", .len = OCV_MANIFEST_MAX + 1};
    ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, NULL), OCV_OK);
    ocv_auto_buffer text;
    format(&report, OCV_LINT_FORMAT_TEXT, &text);
    ck_assert_ptr_null(strchr(text.data, '\033'));
    ocv_lint_report_free(&report);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("lint report");
    TCase *tcase = tcase_create("lint report");
    tcase_add_unchecked_fixture(tcase, read_rules, free_rules);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, places);
    tcase_add_test(tcase, findings_have_lines);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, settings_decide);
    tcase_add_test(tcase, allowances_are_narrow);
    tcase_add_test(tcase, settings_are_checked);
    tcase_add_test(tcase, unreadable_input);
    tcase_add_test(tcase, size_is_judged_unread);
    tcase_add_test(tcase, report_is_bounded);
    tcase_add_test(tcase, formats);
    tcase_add_test(tcase, nothing_is_quoted_raw);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
