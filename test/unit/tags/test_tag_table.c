/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table beside installed rule files: what it passes over has nothing to say, and a file that is
 * not the one that it was made of is read. */
#include "lib/internal/tags/rules/read.h"
#include "lib/internal/tags/tags_internal.h"

#include "test/unit/core_util.h"

#include <sys/stat.h>
#include <unistd.h>

#define RULES                                                                             \
    "schema: dev.ocivariant.tags/v1\nfamily: %s\ndescription: d\nrepositories:\n  - %s\n" \
    "parts: [{match: '.*', kind: ignore}]\n"

static char dir[] = "/tmp/ocv-tag-table.XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_rules(const char *name, const char *family, const char *pattern)
{
    char text[512];
    snprintf(text, sizeof(text), RULES, family, pattern);
    write_file(name, text);
}

/* Of what is there now, and then something in the file that only a parser sees. */
static void write_table(void)
{
    json_t *files = json_object();
    for (const char *const *name = (const char *const[]){"a.yaml", "b.yaml", NULL}; *name; name++) {
        char path[128];
        struct ocv_yaml *tree = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 4096);
        snprintf(path, sizeof(path), "%s/%s", dir, *name);
        ck_assert_int_eq(ocv_tag_file_read(path, &text, NULL), OCV_OK);
        ck_assert_int_eq(ocv_yaml_read(path, text.data, text.len, &tree, NULL), OCV_OK);
        json_object_set_new(files, *name, ocv_tag_table_entry(&text, tree));
        ocv_yaml_free(tree);
    }
    json_t *root = json_pack("{s:s, s:o}", "schema", OCV_TAG_TABLE_SCHEMA, "files", files);
    char *text = json_dumps(root, 0);
    ck_assert_ptr_nonnull(text);
    write_file(OCV_TAG_TABLE_NAME, text);
    free(text);
    json_decref(root);
}

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/ocv-tag-table.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    write_rules("a.yaml", "a", "example.org/a/*");
    write_rules("b.yaml", "b", "{match: 'example\\.org/(b|c)', kind: gpu}");
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* Families that were read for a repository, -1 where reading failed. */
static int families(const char *repository)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) only = NULL;
    ocv_auto(ocv_tag_rules) rules = NULL;
    ck_assert_int_eq(ocv_reference_parse(repository, &only, &err), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    return ocv_tag_rules_load(rules, dir, only, &err) == OCV_OK ? (int)ocv_tag_rules_count(rules)
                                                                : -1;
}

START_TEST(test_passes_over)
{
    write_table();
    ck_assert_int_eq(families("example.org/a/x"), 1);
    ck_assert_int_eq(families("example.org/c"), 1);
    ck_assert_int_eq(families("example.org/d"), 0);
    /* what the parser would refuse is not seen, as long as the digest is the table's own */
    write_rules("a.yaml", "[", "example.org/a/*");
    ck_assert_int_eq(families("example.org/d"), -1);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    char digest[OCV_DIGEST_MAX], table[512], path[128];
    snprintf(path, sizeof(path), "%s/a.yaml", dir);
    ck_assert_int_eq(ocv_tag_file_read(path, &text, NULL), OCV_OK);
    ck_assert_int_eq(ocv_digest_bytes(text.data, text.len, digest, NULL), OCV_OK);
    snprintf(table, sizeof(table),
             "{\"schema\": \"%s\", \"files\": {\"a.yaml\": {\"digest\": \"%s\", "
             "\"repositories\": [{\"glob\": \"example.org/a/*\"}]}}}",
             OCV_TAG_TABLE_SCHEMA, digest);
    write_file(OCV_TAG_TABLE_NAME, table);
    ck_assert_int_eq(families("example.org/d"), 0);
    ck_assert_int_eq(families("example.org/a/x"), -1);
}
END_TEST

/* An administrator's file for other repositories takes a family of its name away, too. */
START_TEST(test_replaced_for_another_repository)
{
    ck_assert_int_eq(families("example.org/a/x"), 1);
    write_rules("c.yaml", "a", "example.org/other/*");
    ck_assert_int_eq(families("example.org/a/x"), 0);
    ck_assert_int_eq(families("example.org/other/x"), 1);
}
END_TEST

START_TEST(test_changed_file_is_read)
{
    write_table();
    write_rules("a.yaml", "a", "example.org/d");
    ck_assert_int_eq(families("example.org/d"), 1);
    ck_assert_int_eq(families("example.org/a/x"), 0);
}
END_TEST

static const char *const useless[] = {
    "",
    "[",
    "[]",
    "{\"schema\": \"another\"}",
    "{\"schema\": \"" OCV_TAG_TABLE_SCHEMA "\"}",
    "{\"schema\": \"" OCV_TAG_TABLE_SCHEMA "\", \"files\": []}",
    "{\"schema\": \"" OCV_TAG_TABLE_SCHEMA
    "\", \"files\": {\"a.yaml\": {\"digest\": \"sha256:0\"}}}",
};

START_TEST(test_useless_table)
{
    write_file(OCV_TAG_TABLE_NAME, useless[_i]);
    ck_assert_int_eq(families("example.org/a/x"), 1);
    ck_assert_int_eq(families("example.org/b"), 1);
    ck_assert_int_eq(families("example.org/d"), 0);
}
END_TEST

static const struct {
    const char *pattern, *text;
    bool may;
} cases[] = {
    {"abc", "abc", true},     {"abc", "abd", false},    {"abc", "ab", false},
    {"ab", "abc", false},     {"a|b", "b", true},       {"x(a|b)", "ya", false},
    {"x(a|b)", "xb", true},   {"ab?c", "ac", true},     {"ab*c", "ac", true},
    {"ab+c", "ac", false},    {"a\\.b", "a.b", true},   {"a\\.b", "axb", false},
    {"a\\.?b", "ab", true},   {"\\w+", "abc", true},    {"a[|]b", "a|b", true},
    {"a[]|(]c|d", "d", true}, {"a[^]|]c", "abc", true}, {"(a)|b", "b", true},
    {"a\\|b", "a|b", true},   {"x{1}", "y", true},      {"a[", "a", true},
    {"a.c", "abc", true},     {"", "", true},           {"", "a", false},
};

START_TEST(test_may)
{
    ck_assert_msg(ocv_tag_pattern_may(cases[_i].pattern, cases[_i].text) == cases[_i].may,
                  "'%s' and '%s'", cases[_i].pattern, cases[_i].text);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tag_table");
    TCase *tcase = tcase_create("table"), *pattern = tcase_create("pattern");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_passes_over);
    tcase_add_test(tcase, test_replaced_for_another_repository);
    tcase_add_test(tcase, test_changed_file_is_read);
    tcase_add_loop_test(tcase, test_useless_table, 0, sizeof(useless) / sizeof(*useless));
    tcase_add_loop_test(pattern, test_may, 0, sizeof(cases) / sizeof(*cases));
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, pattern);
    return run_suite(suite);
}
