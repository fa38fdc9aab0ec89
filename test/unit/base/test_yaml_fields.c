/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of keys: what each kind of value may be, and how what is wrong is said. */
#include "lib/base/format/yaml.h"
#include "test/unit/core_util.h"

static bool is_lower(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text);
}

static int check_even(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    return node->n % 2 ? ocv_yaml_error(r, node, "has an odd number of members") : OCV_OK;
}

#define TEXT .takes = OCV_TAKES_TEXT
static const struct ocv_yaml_rule text = {TEXT, .len_max = 4, .hint = "make it short"};
static const struct ocv_yaml_rule lower = {TEXT, .good = is_lower, .wanted = "a lower text"};
static const struct ocv_yaml_rule flag = {TEXT, .words = ocv_yaml_flag_words};
static const char *const sizes[] = {"small", "medium", "large", NULL};
static const struct ocv_yaml_rule size = {TEXT, .words = sizes};
static const struct ocv_yaml_rule list = {
    .takes = OCV_TAKES_LIST, .min = 1, .max = 3, .once = true, .item = &lower};
static const struct ocv_yaml_rule either = {.takes = OCV_TAKES_TEXT | OCV_TAKES_LIST,
                                            .item = &lower};
static const struct ocv_yaml_rule many = {.takes = OCV_TAKES_LIST, .min = 2, .item = &text};
static const struct ocv_yaml_rule none = {.takes = OCV_TAKES_LIST, .empty = true, .item = &lower};
static const struct ocv_yaml_rule map = {
    .takes = OCV_TAKES_MAP, .max = 4, .name = &lower, .each = &text, .check = check_even};
static const struct ocv_yaml_key part_keys[] = {{"colour", &text, true}, {"deep", &flag, false}};
static const struct ocv_yaml_key use_keys[] = {{"use", &text, true}};
static const struct ocv_yaml_table use_table = {"a use", OCV_YAML_KEYS(use_keys)};
static const struct ocv_yaml_table part_table = {"a part", OCV_YAML_KEYS(part_keys),
                                                 .other = &use_table};
static const struct ocv_yaml_rule part = {.takes = OCV_TAKES_MAP, .table = &part_table};
static const struct ocv_yaml_rule parts = {.takes = OCV_TAKES_LIST, .item = &part};
static const struct ocv_yaml_key keys[] = {{"text", &text, false}, {"lower", &lower, false},
                                           {"flag", &flag, false}, {"size", &size, false},
                                           {"list", &list, false}, {"either", &either, false},
                                           {"many", &many, false}, {"none", &none, false},
                                           {"map", &map, false},   {"parts", &parts, false}};
static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys), .inner = &part_table};
static const struct ocv_yaml_rule file = {.takes = OCV_TAKES_MAP, .table = &table};

static const struct {
    const char *text, *message; /* NULL: fine */
} cases[] = {
    {"", NULL},
    {"[a]", "f:1: the file must be a mapping"},
    {"text: abcd\nlower: a\nflag: true\nsize: large\nlist: [a, b, c]\neither: a\n", NULL},
    {"text: abcde", "f:1: invalid value 'abcde' for text: a text of at most 4 characters"},
    {"text: ''", "f:1: 'text' must be a text of at most 4 characters"},
    {"text: [a]", "f:1: 'text' must be a text of at most 4 characters"},
    {"\nlower: A", "f:2: invalid value 'A' for lower: a lower text"},
    {"flag: yes", NULL}, /* as true; other words of YAML 1.1, too */
    {"flag: 'Off'", NULL},
    {"flag: y", "f:1: invalid value 'y' for flag: true or false"},
    {"size: larg",
     "f:1: invalid value 'larg' for size: small, medium or large; did you mean 'large'?"},
    {"size: huge", "f:1: invalid value 'huge' for size: small, medium or large"},
    {"list: a", "f:1: 'list' must be a list of 1 to 3, not 'a'"},
    {"list: []", "f:1: 'list' must be a list of 1 to 3"},
    {"list: [a, b, c, d]", "f:1: 'list' has more than 3 members"},
    {"list: [a, b, a]", "f:1: 'a' is given twice"},
    {"list:\n- a\n- B", "f:3: 'B' must be a lower text"},
    {"list: [[a]]", "f:1: an item must be a lower text"},
    {"either: {a: b}", "f:1: 'either' must be a text, or a list"},
    {"either: [a]\nmany: [a, a]\nnone:\nmap: {a: b, c: d}\n", NULL},
    {"many: [a]", "f:1: 'many' must be a list of at least 2"},
    {"none: a", "f:1: 'none' must be a list, not 'a'"},
    {"map: {A: b, c: d}", "f:1: 'A' must be a lower text"},
    {"map: {a: b, c: defgh}", "f:1: invalid value 'defgh' for c: a text of at most 4 characters"},
    {"map: {a: b}", "f:1: 'map' has an odd number of members"},
    {"map: {a: b, c: d, e: f, g: h, i: j}", "f:1: 'map' has more than 4 members"},
    {"parts: [{colour: red, deep: false}, {use: me}]", NULL},
    {"parts: [a]", "f:1: 'a' must be a mapping"},
    {"parts: [{deep: true}]", "f:1: a part lacks 'colour'"},
    {"parts: [{color: red}]", "f:1: unknown key 'color' of a part; did you mean 'colour'?"},
    {"parts: [{use: me, deep: true}]", "f:1: unknown key 'deep' of a use"},
    {"colour: red", "f:1: 'colour' is a key of a part only"},
    {"tetx: a", "f:1: unknown key 'tetx'; did you mean 'text'?"},
    {"wholly_other: a", "f:1: unknown key 'wholly_other'"},
};

START_TEST(what_is_wrong_is_said)
{
    const struct ocv_yaml_reader r = {.source = "f", .err = &(struct ocv_error){0}};
    struct ocv_yaml *tree = NULL;
    const char *in = cases[_i].text;
    int status = ocv_yaml_load(&r, &file, in, strlen(in), 200, &tree);
    if (cases[_i].message) {
        ck_assert_int_eq(status, OCV_ERR_CONFIG);
        ck_assert_str_eq(r.err->message, cases[_i].message);
    } else {
        ck_assert_msg(status == OCV_OK, "%s: %s", in, r.err->message);
    }
    ocv_yaml_free(tree);
}
END_TEST

START_TEST(a_hint_follows_the_message)
{
    const struct ocv_yaml_reader r = {.source = "f", .err = &(struct ocv_error){0}};
    struct ocv_yaml *tree = NULL;
    ck_assert_int_eq(ocv_yaml_load(&r, &file, "many: [a, {b: c}]", 17, 17, &tree), OCV_ERR_CONFIG);
    ck_assert_str_eq(r.err->message, "f:1: an item must be a text of at most 4 characters");
    ck_assert_str_eq(r.err->hint, "make it short");
}
END_TEST

START_TEST(a_file_has_a_limit)
{
    const struct ocv_yaml_reader r = {.source = "f", .err = &(struct ocv_error){0}};
    struct ocv_yaml *tree = NULL;
    ck_assert_int_eq(ocv_yaml_load(&r, &file, "flag: true", 10, 10, &tree), OCV_OK);
    ck_assert(ocv_yaml_flag(tree, "flag"));
    ck_assert(!ocv_yaml_flag(tree, "text"));
    ocv_yaml_free(tree);
    ck_assert_int_eq(ocv_yaml_load(&r, &file, "flag: true", 10, 9, &tree), OCV_ERR_CONFIG);
    ck_assert_str_eq(r.err->message, "f: larger than 9 bytes");
}
END_TEST

START_TEST(a_text_from_elsewhere)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_yaml_check_text(&size, "size", "small", &err), OCV_OK);
    ck_assert_int_eq(ocv_yaml_check_text(&size, "size", "", &err), OCV_ERR_CONFIG);
    ck_assert_int_eq(ocv_yaml_check_text(&none, "none", "", &err), OCV_OK);
    ck_assert_int_eq(ocv_yaml_check_text(&size, "size", "huge", &err), OCV_ERR_CONFIG);
    ck_assert_str_eq(err.message, "invalid value 'huge' for size: small, medium or large");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("yaml_fields");
    TCase *tcase = tcase_create("fields");
    tcase_add_loop_test(tcase, what_is_wrong_is_said, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tcase, a_hint_follows_the_message);
    tcase_add_test(tcase, a_file_has_a_limit);
    tcase_add_test(tcase, a_text_from_elsewhere);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
