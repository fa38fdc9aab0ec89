/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TOML reader and its edits: every notation, every other byte kept, what is not TOML refused.
 */
#include "cmd/variantctl/setup/toml/toml.h"

#include "test/unit/core_util.h"

static const char REGISTRY[] = "plugins" TOML_DOT "a.b" TOML_DOT "registry";

static void scan_ok(const char *text, struct toml *out)
{
    struct ocv_error err = {0};
    int status = toml_scan("f", text, strlen(text), out, &err);
    ck_assert_msg(status == OCV_OK, "%s\n%s", err.message, text);
}

static void scan_bad(const char *text, const char *message)
{
    struct ocv_error err = {0};
    struct toml toml;
    int status = toml_scan("f", text, strlen(text), &toml, &err);
    ck_assert_msg(status == OCV_ERR_DATA, "accepted: %s", text);
    ck_assert_msg(strstr(err.message, message) != NULL, "'%s' lacks '%s'", err.message, message);
}

/* The raw text of the value at a path. */
static const char *raw_of(const struct toml *toml, const char *path)
{
    static char text[256];
    const struct toml_item *item = toml_find(toml, path);
    if (!item)
        return NULL;
    snprintf(text, sizeof(text), "%.*s", (int)(item->end - item->start), toml->text + item->start);
    return text;
}

START_TEST(every_notation_has_its_place)
{
    static const char text[] = "\xef\xbb\xbf# top\r\n"
                               "a = 1\r\n"
                               "'b c'.\"d\\u0065\" = '''x\n'y'''' # after\n"
                               "when = 1979-05-27 07:32:00Z\n"
                               "local = 1979-05-27\n"
                               "\t[ t . \"u.v\" ]  # header\n"
                               "list = [ # one\n  \"]\", [1, 2], {k = '}'},\n]\n"
                               "in = { x = {y = true}, z.w = \"\"\"\n\\\"\"\"\" }\n"
                               "[[r]]\nk = 1\n[[r.s]]\nk = 2\n[[r]]\nk = inf";
    toml_auto toml = {0};
    scan_ok(text, &toml);
    ck_assert_str_eq(raw_of(&toml, "a"), "1");
    ck_assert_str_eq(raw_of(&toml, "b c" TOML_DOT "de"), "'''x\n'y''''");
    ck_assert_str_eq(raw_of(&toml, "when"), "1979-05-27 07:32:00Z");
    ck_assert_str_eq(raw_of(&toml, "local"), "1979-05-27");
    ck_assert_str_eq(raw_of(&toml, "t" TOML_DOT "u.v" TOML_DOT "in" TOML_DOT "x" TOML_DOT "y"),
                     "true");
    ck_assert_str_eq(raw_of(&toml, "t" TOML_DOT "u.v" TOML_DOT "in" TOML_DOT "z" TOML_DOT "w"),
                     "\"\"\"\n\\\"\"\"\"");
    ck_assert_ptr_null(toml_find(&toml, "t" TOML_DOT "u.v" TOML_DOT "list" TOML_DOT "k"));
    char *value = toml_string(&toml, toml_find(&toml, "b c" TOML_DOT "de"));
    ck_assert_str_eq(value, "x\n'y'");
    free(value);
    size_t tables = 0;
    for (size_t i = 0; i < toml.count; i++)
        if (toml.items[i].kind == TOML_ARRAY_TABLE && !strcmp(toml.items[i].path, "r"))
            ck_assert_str_eq(toml.text + toml_find_under(&toml, i, "k")->start,
                             tables++ ? "inf" : "1\n[[r.s]]\nk = 2\n[[r]]\nk = inf");
    ck_assert_uint_eq(tables, 2);
}
END_TEST

START_TEST(what_is_not_toml_is_told_with_its_line)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"a", "f:1: '=' is missing"},
        {"a =", "f:1: a value is missing"},
        {"\n= 1", "f:2: a key is missing"},
        {"[a", "f:1: ']' is missing"},
        {"[[a]", "']' is missing"},
        {"[]", "a key is missing"},
        {"a. = 1", "a key is missing"},
        {"a = 1 b = 2", "more on the line"},
        {"a = \"x", "does not end"},
        {"a = \"x\n\"", "does not end on its line"},
        {"a = '''x''", "does not end"},
        {"a = \"\\q\"", "unknown escape"},
        {"a = \"\\u00g0\"", "broken escape"},
        {"a = \"\\ud800\"", "invalid escape"},
        {"a = [1, 2", "']' is missing"},
        {"a = [1 2]", "']' is missing"},
        {"a = {b = 1", "'}' is missing"},
        {"a = {b}", "'=' is missing"},
        {"\"\"\"a\"\"\" = 1", "a key over several lines"},
        {"\"a\\u001fb\" = 1", "a control character in a key"},
        {"a = ]", "a value is missing"},
        {"\r a = 1", "a key is missing"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        scan_bad(bad[i].text, bad[i].message);
}
END_TEST

START_TEST(limits_hold_at_the_limit_and_one_past)
{
    static char text[TOML_MAX + 2];
    struct ocv_error err = {0};
    struct toml toml;
    /* depth */
    for (unsigned past = 0; past < 2; past++) {
        size_t n = TOML_DEPTH_MAX + past, at = (size_t)snprintf(text, sizeof(text), "a = ");
        memset(text + at, '[', n);
        memset(text + at + n, ']', n);
        text[at + 2 * n] = '\0';
        ck_assert_int_eq(toml_scan("f", text, strlen(text), &toml, &err),
                         past ? OCV_ERR_DATA : OCV_OK);
        toml_free(&toml);
    }
    /* size */
    memset(text, '#', sizeof(text));
    ck_assert_int_eq(toml_scan("f", text, TOML_MAX, &toml, &err), OCV_OK);
    toml_free(&toml);
    ck_assert_int_eq(toml_scan("f", text, TOML_MAX + 1, &toml, &err), OCV_ERR_DATA);
    /* a key's length */
    for (unsigned past = 0; past < 2; past++) {
        memset(text, 'k', TOML_KEY_MAX + past);
        snprintf(text + TOML_KEY_MAX + past, 8, " = 1");
        ck_assert_int_eq(toml_scan("f", text, strlen(text), &toml, &err),
                         past ? OCV_ERR_DATA : OCV_OK);
        toml_free(&toml);
    }
    /* items */
    for (unsigned past = 0; past < 2; past++) {
        size_t at = 0;
        for (unsigned i = 0; i < TOML_ITEMS_MAX + past; i++)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "k%u=1\n", i);
        ck_assert_int_eq(toml_scan("f", text, at, &toml, &err), past ? OCV_ERR_DATA : OCV_OK);
        toml_free(&toml);
    }
}
END_TEST

/* FROM with the key set is TO; taking it away again leads to BACK (NULL: FROM). */
static const struct edit {
    const char *from, *to, *back;
} edits[] = {
    {"", "[plugins.\"a.b\".registry]\n  k = \"v\"\n", NULL},
    {"x = 1\n", "x = 1\n\n[plugins.\"a.b\".registry]\n  k = \"v\"\n", NULL},
    {"x = 1", "x = 1\n\n[plugins.\"a.b\".registry]\n  k = \"v\"\n", "x = 1\n"},
    {"x = 1\r\n", "x = 1\r\n\r\n[plugins.\"a.b\".registry]\r\n  k = \"v\"\r\n", NULL},
    {"[plugins.'a.b'.registry]\n", "[plugins.'a.b'.registry]\nk = \"v\"\n", NULL},
    {"[plugins.'a.b'.registry]", "[plugins.'a.b'.registry]\nk = \"v\"",
     "[plugins.'a.b'.registry]\n"},
    {"\t[plugins.'a.b'.registry] # c\n\t\t z = 1\n",
     "\t[plugins.'a.b'.registry] # c\n\t\t k = \"v\"\n\t\t z = 1\n", NULL},
    {"[plugins.'a.b'.registry.m]\nx = 1\n",
     "[plugins.'a.b'.registry.m]\nx = 1\n\n[plugins.\"a.b\".registry]\n  k = \"v\"\n", NULL},
    {"plugins.'a.b'.registry.z = 1\n[q]\n",
     "plugins.'a.b'.registry.z = 1\nplugins.\"a.b\".registry.k = \"v\"\n[q]\n", NULL},
    {"[plugins]\n  'a.b'.registry.z = { q = 1 }",
     "[plugins]\n  'a.b'.registry.z = { q = 1 }\n  \"a.b\".registry.k = \"v\"",
     "[plugins]\n  'a.b'.registry.z = { q = 1 }\n"},
    {"[plugins.'a.b']\nregistry = {}\n", "[plugins.'a.b']\nregistry = { k = \"v\" }\n", NULL},
    {"[plugins.'a.b']\nregistry = { z = 1 }\n",
     "[plugins.'a.b']\nregistry = { k = \"v\", z = 1 }\n", NULL},
    {"plugins = { 'a.b' = { x = 1 } }\n", "plugins = { 'a.b' = { registry.k = \"v\", x = 1 } }\n",
     NULL},
};

static void buffer_of(struct ocv_buffer *buffer, const char *text)
{
    ocv_buffer_init(buffer, TOML_MAX);
    ck_assert_int_eq(ocv_buffer_append(buffer, text, strlen(text), NULL), OCV_OK);
}

START_TEST(a_key_is_set_and_taken_away_in_every_notation)
{
    const struct edit *edit = &edits[_i];
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, edit->from);
    ck_assert_msg(toml_set("f", &text, REGISTRY, "k", "\"v\"", &err) == OCV_OK, "%s", err.message);
    ck_assert_str_eq(text.data, edit->to);
    ck_assert_int_eq(toml_set("f", &text, REGISTRY, "k", "\"v\"", &err), OCV_OK);
    ck_assert_str_eq(text.data, edit->to);
    bool ours = strstr(edit->to, "[plugins.\"a.b\".registry]") != NULL;
    ck_assert_int_eq(toml_unset("f", &text, REGISTRY, "k", ours, &err), OCV_OK);
    ck_assert_str_eq(text.data, edit->back ? edit->back : edit->from);
}
END_TEST

START_TEST(a_value_is_replaced_where_it_stands)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"[plugins.'a.b'.registry]\n  k=''# c\n", "[plugins.'a.b'.registry]\n  k=\"v\"# c\n"},
        {"plugins.'a.b'.registry.k = [\n 1 ]\nz = 1", "plugins.'a.b'.registry.k = \"v\"\nz = 1"},
        {"plugins.'a.b' = {registry = {k = 1}}", "plugins.'a.b' = {registry = {k = \"v\"}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        buffer_of(&text, cases[i].from);
        ck_assert_int_eq(toml_set("f", &text, REGISTRY, "k", "\"v\"", &err), OCV_OK);
        ck_assert_str_eq(text.data, cases[i].to);
    }
}
END_TEST

START_TEST(what_cannot_be_edited_is_refused)
{
    static const char *const bad[] = {
        "[[plugins]]\nx = 1\n",
        "[[plugins.'a.b'.registry]]\n",
        "plugins = 1\n",
        "[plugins.'a.b']\nregistry = []\n",
        "[plugins.'a.b'.registry]\nk = 1\nk = 2\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        buffer_of(&text, bad[i]);
        ck_assert_msg(toml_set("f", &text, REGISTRY, "k", "\"v\"", &err) < 0, "edited: %s", bad[i]);
        ck_assert(err.message[0] != '\0');
    }
}
END_TEST

START_TEST(a_root_key_stands_before_the_headers)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "\xef\xbb\xbf[t]\r\nx = 1\r\n");
    ck_assert_int_eq(toml_set("f", &text, "", "server", "\"s\"", &err), OCV_OK);
    ck_assert_str_eq(text.data, "\xef\xbb\xbfserver = \"s\"\r\n[t]\r\nx = 1\r\n");
    ck_assert_int_eq(toml_unset("f", &text, "", "server", true, &err), OCV_OK);
    ck_assert_str_eq(text.data, "\xef\xbb\xbf[t]\r\nx = 1\r\n");
}
END_TEST

START_TEST(strings_are_quoted_and_read_back)
{
    static const char odd[] = "a\"b\\c\td\x7f \xc3\xa4";
    ocv_auto_buffer text;
    struct ocv_error err = {0};
    buffer_of(&text, "x = ");
    ck_assert_int_eq(toml_quote(&text, odd, &err), OCV_OK);
    toml_auto toml = {0};
    scan_ok(text.data, &toml);
    char *value = toml_string(&toml, toml_find(&toml, "x"));
    ck_assert_str_eq(value, odd);
    free(value);
}
END_TEST

START_TEST(the_strings_of_a_list)
{
    toml_auto toml = {0};
    scan_ok("l = [ # c\n 'a', \"\", # d\n\t\"b\",\n]\ns = 'one'\nn = [1, 'x']\n", &toml);
    size_t at = 0;
    const char *want[] = {"a", "", "b"};
    for (size_t i = 0; i < 3; i++) {
        char *one = toml_next_string(&toml, toml_find(&toml, "l"), &at, NULL, NULL);
        ck_assert_str_eq(one, want[i]);
        free(one);
    }
    ck_assert_ptr_null(toml_next_string(&toml, toml_find(&toml, "l"), &at, NULL, NULL));
    at = 0;
    char *one = toml_next_string(&toml, toml_find(&toml, "s"), &at, NULL, NULL);
    ck_assert_str_eq(one, "one");
    free(one);
    ck_assert_ptr_null(toml_next_string(&toml, toml_find(&toml, "s"), &at, NULL, NULL));
    at = 0;
    ck_assert_ptr_null(toml_next_string(&toml, toml_find(&toml, "n"), &at, NULL, NULL));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("setup_toml");
    TCase *tcase = tcase_create("toml");
    tcase_add_test(tcase, every_notation_has_its_place);
    tcase_add_test(tcase, what_is_not_toml_is_told_with_its_line);
    tcase_add_test(tcase, limits_hold_at_the_limit_and_one_past);
    tcase_add_loop_test(tcase, a_key_is_set_and_taken_away_in_every_notation, 0,
                        (int)(sizeof(edits) / sizeof(*edits)));
    tcase_add_test(tcase, a_value_is_replaced_where_it_stands);
    tcase_add_test(tcase, what_cannot_be_edited_is_refused);
    tcase_add_test(tcase, a_root_key_stands_before_the_headers);
    tcase_add_test(tcase, strings_are_quoted_and_read_back);
    tcase_add_test(tcase, the_strings_of_a_list);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
