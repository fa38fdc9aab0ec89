/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshotter's filters and their regular expressions: containerd's answers. */
#include "plugins/containerd/snapshotter/snapshotter.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct snap_info info_of(const char *name, const char *parent, enum snap_kind kind)
{
    struct snap_info info = {
        .name = (char *)(uintptr_t)name, .parent = (char *)(uintptr_t)parent, .kind = kind};
    snap_labels_init(&info.labels);
    return info;
}

static void label(struct snap_info *info, const char *key, const char *value)
{
    ck_assert_int_eq(snap_labels_set(&info->labels, key, value, NULL), GRPC_OK);
}

START_TEST(test_filters)
{
    static const struct {
        const char *text;
        const char *expected; /* which of the snapshots, or "!" for an error */
    } cases[] = {
        {"", "abc"},
        {"name", "abc"},
        {"name==a", "a"},
        {"name!=a", "bc"},
        {"name~=[ab]", "ab"},
        {"name~=/^[ab]$/,kind==view", "b"},
        {"name~=|a{1,2}|", "a"},
        {"kind==active", "a"},
        {"kind==committed", "c"},
        {"kind!=committed", "ab"},
        {"parent", "abc"},
        {"parent==c", "a"},
        {"parent==\"\"", "bc"},
        {"labels", ""},
        {"labels.foo", "ac"},
        {"labels.foo==true", "a"},
        {"labels.foo!=true", "bc"},
        {"labels.foo==omg_asdf.asdf-qwer", "c"},
        {"labels.\"foo\"==true,name==a", "a"},
        {"labels.\"containerd.io/snapshot.ref\"==sha256:0123,parent==\"c\"", "a"},
        {"labels.\"containerd.io/snapshot.ref\"", "a"},
        {"labels.containerd.\"io/x\"", "b"},
        {"labels.\"q \\\\ and \\\"\".post==present", "b"},
        {"labels.\"q \\\\ and \\\"\"", ""},
        {"labels.u==\"\\u00e9\\x41\\101\"", "b"},
        {" name == a", "a"},
        {"nothing", ""},
        {"nothing!=x", "abc"},
        {"nothing~=^$", "abc"},
        {"name~=[", ""}, /* cannot be compiled: matches nothing */
        {"name==foo,", "!"},
        {"labels.", "!"},
        {"image~=,id?=?fbaq", "!"},
        {"labels.|foo|==x", "!"},
        {"labels.?\"x\"", "!"},
        {"labels.fo-o==x", "!"}, /* to be quoted, as for containerd */
        {"-", "!"},
        {"name=a", "!"},
        {"name===a", "!"},
        {"name==", "!"},
        {"name==a b", "!"},
        {"name==\"a", "!"},
        {"name==\"a\\q\"", "!"},
        {"name==\"\\x4\"", "!"},
        {"name==\"\\000\"", "!"},
        {",", "!"},
        {"==a", "!"},
        {"name==/a/", "!"},
        {"name~=/a\nb/", "!"},
    };
    struct snap_info list[] = {info_of("a", "c", SNAP_ACTIVE), info_of("b", "", SNAP_VIEW),
                               info_of("c", "", SNAP_COMMITTED)};
    label(&list[0], "foo", "true");
    label(&list[0], "containerd.io/snapshot.ref", "sha256:0123");
    label(&list[1], "containerd.io/x", "1");
    label(&list[1], "q \\ and \".post", "present");
    label(&list[1], "u",
          "\xc3\xa9"
          "AA");
    label(&list[2], "foo", "omg_asdf.asdf-qwer");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct snap_filter *filter = NULL;
        struct ocv_error err = {0};
        char got[8] = "";
        size_t n = 0;
        char *text = (char *)(uintptr_t)cases[i].text;
        enum grpc_code code = snap_filter_new(&text, 1, &filter, &err);
        ck_assert_msg((code == GRPC_INVALID_ARGUMENT) == (cases[i].expected[0] == '!'), "%s: %d %s",
                      text, (int)code, err.message);
        for (size_t j = 0; filter && j < 3; j++)
            if (snap_filter_match(filter, &list[j]) == 1)
                got[n++] = list[j].name[0];
        if (filter)
            ck_assert_msg(strcmp(got, cases[i].expected) == 0, "%s: '%s'", text, got);
        snap_filter_free(filter);
    }
    for (size_t j = 0; j < 3; j++)
        ocv_buffer_free(&list[j].labels);
}
END_TEST

START_TEST(test_several)
{
    char *texts[SNAP_FILTERS_MAX + 1];
    struct snap_filter *filter = NULL;
    struct snap_info a = info_of("a", "", SNAP_ACTIVE);
    ck_assert_int_eq(snap_filter_new(NULL, 0, &filter, NULL), GRPC_OK);
    ck_assert_int_eq(snap_filter_match(filter, &a), 1);
    snap_filter_free(filter);
    for (size_t i = 0; i <= SNAP_FILTERS_MAX; i++)
        texts[i] = (char *)(uintptr_t)(i == 7 ? "name==a" : "name==b");
    ck_assert_int_eq(snap_filter_new(texts, SNAP_FILTERS_MAX, &filter, NULL), GRPC_OK);
    ck_assert_int_eq(snap_filter_match(filter, &a), 1); /* any of them */
    snap_filter_free(filter);
    ck_assert_int_eq(snap_filter_new(texts, SNAP_FILTERS_MAX + 1, &filter, NULL),
                     GRPC_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_regex)
{
    static const struct {
        const char *regex, *text;
        int found; /* -1: cannot be compiled, 2: takes too long */
    } cases[] = {
        {"", "", 1},
        {"a", "bab", 1},
        {"^a", "ba", 0},
        {"a$", "ab", 0},
        {"^$", "", 1},
        {"^a|b$", "xb", 1},
        {"a*b+c?", "xbbx", 1},
        {"^(ab|cd)+$", "abcdab", 1},
        {"^(ab|cd)+$", "abcda", 0},
        {"^(a|b|c|d)$", "c", 1},
        {"^a{2,3}$", "aa", 1},
        {"^a{2,3}$", "aaaa", 0},
        {"^a{2}$", "aa", 1},
        {"^a{2,}$", "a", 0},
        {"^a{2,}$", "aaaaa", 1},
        {"^a{0}b$", "b", 1},
        {"a{,2}", "a{,2}", 1},
        {"^[a-c]+$", "abc", 1},
        {"^[^a-c]+$", "xyz", 1},
        {"^[^a-c]+$", "xaz", 0},
        {"^[]a]+$", "]a", 1},
        {"^[a-]+$", "a-", 1},
        {"^\\d+\\s\\w+$", "12 a_", 1},
        {"^\\D$", "1", 0},
        {"^[\\d.]+$", "1.2", 1},
        {"^[[:alpha:]]+$", "aZ", 1},
        {"^[[:^alpha:]]+$", "12", 1},
        {"(?i)^HeLLo$", "hEllO", 1},
        {"^(?i:a)b$", "Ab", 1},
        {"^(?i:a)b$", "AB", 0},
        {"^(?i)[^a]$", "A", 0},
        {"^.$", "\n", 0},
        {"(?s)^.$", "\n", 1},
        {"^b$", "a\nb\nc", 0},
        {"(?m)^b$", "a\nb\nc", 1},
        {"\\bfoo\\b", "a foo b", 1},
        {"\\bfoo\\b", "afoo", 0},
        {"\\Boo", "foo", 1},
        {"\\Aa\\z", "a", 1},
        {"^a.c$",
         "a\xc3\xa9"
         "c",
         1},
        {"^[\xc3\xa0-\xc3\xaf]$", "\xc3\xa9", 1},
        {"^\\x41\\x{e9}$", "A\xc3\xa9", 1},
        {"^(?P<n>a)(?:b)(?<m>c)$", "abc", 1},
        {"a*?b", "aab", 1},
        {"^sha256:[0-9a-f]{64}$",
         "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 1},
        {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
        {"^(a?){30}a{30}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 2},
        {"(((){1000}){1000}){1000}a", "", -1},
        {"x{1001}", "", -1},
        {"((a{100}){100}){100}", "", -1},
        {"(", "", -1},
        {")", "", -1},
        {"[", "", -1},
        {"[b-a]", "", -1},
        {"*", "", -1},
        {"a|*", "", -1},
        {"\\", "", -1},
        {"\\8", "", -1},
        {"^\\p{Greek}\\pL\\p{^Lu}\\PN$",
         "\xce\xb1\xce\xb2"
         "cd",
         1},
        {"^[\\p{Lu}\\P{Greek}]+$", "\xce\xb1", 0},
        {"^\\p{Any}$", "a", 1},
        {"\\p{Klingon}", "", -1},
        {"\\p{Bidi_Class:L}", "", -1},
        {"\\p", "", -1},
        {"\\p{Lu", "", -1},
        /* what PCRE2 by itself would take for something else */
        {"^\\v$", "\x0b", 1},
        {"^\\v$", "\n", 0},
        {"^\\s$", "\x0b", 0},
        {"^\\S$", "\x0b", 1},
        {"^[\\s]$", "\x0b", 0},
        {"^[\\sa]+$", " a\t", 1},
        {"^[[:space:]]$", "\x0b", 1},
        {"^\\101\\01$", "A\x01", 1},
        {"^[\\d-z]+$", "1-z", 1},
        {"^[a[.]+$", "[a.", 1},
        {"^[[.x.]+$", "[.x", 1},
        {"^[+--]+$", "+,-", 1},
        {"^\\Qa.b\\E+$", "a.bb", 1},
        {"^\\Qa.b", "a.b", 1},
        {"a$", "a\n", 0},
        {"(?m)^$", "a\n", 1},
        {"(?m)a$", "a\r\n", 0},
        {"(?i)^\xc3\x89$", "\xc3\xa9", 1},
        {"^(?-s).$", "\n", 0},
        {"(?U)a+", "a", 1},
        {"^a{,2}$", "a{,2}", 1},
        {"^a{x$", "a{x", 1},
        {"^a*{$", "aa{", 1},
        {"^.$", "\xff", 0},
        {"(a)\\1", "aa", -1},
        {"(?=a)", "a", -1},
        {"(?<!a)", "a", -1},
        {"(?>a)", "a", -1},
        {"(?|a)", "a", -1},
        {"(?#a)", "a", -1},
        {"(?R)", "a", -1},
        {"(?P=n)", "a", -1},
        {"(?'n'a)", "a", -1},
        {"(?<n>a)(?<n>b)", "ab", -1},
        {"(?^i)a", "a", -1},
        {"(?i-)a", "a", -1},
        {"(*ACCEPT)", "a", -1},
        {"(*UCP)a", "a", -1},
        {"a**", "a", -1},
        {"a*+", "a", -1},
        {"a{2}{3}", "a", -1},
        {"\\Z", "a", -1},
        {"\\h", "a", -1},
        {"\\R", "a", -1},
        {"\\K", "a", -1},
        {"\\C", "a", -1},
        {"\\cA", "a", -1},
        {"\\e", "a", -1},
        {"\\E", "a", -1},
        {"\\x4", "a", -1},
        {"\\x{110000}", "a", -1},
        {"\\\xc3\xa9", "a", -1},
        {"[a-\\d]", "a", -1},
        {"[\\S]", "a", -1},
        {"[[:nothing:]]", "a", -1},
        {"\xff", "a", -1},
        {"[\xff]", "a", -1},
        {"[\xc3(]", "a", -1},
        {"a{3,2}", "", -1},
        {"(?x)a", "", -1},
        {"(?<n", "", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *why = "";
        struct snap_regex *regex = snap_regex_new(cases[i].regex, &why);
        ck_assert_msg((regex == NULL) == (cases[i].found < 0), "%s: %s", cases[i].regex, why);
        if (regex)
            ck_assert_msg(snap_regex_search(regex, cases[i].text) ==
                              (cases[i].found == 2 ? -1 : cases[i].found),
                          "%s on '%s'", cases[i].regex, cases[i].text);
        snap_regex_free(regex);
    }
}
END_TEST

/* Deep, long and wide ones end in an answer, whichever. */
START_TEST(test_regex_size)
{
    static const char *const parts[] = {"(", "a|", "a*", "[a-z]", "(a|", "a{9}", "?", "()"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        size_t len = strlen(parts[i]), n = 60000 / len;
        char *text = malloc(n * len + 1);
        for (size_t j = 0; j < n; j++)
            memcpy(text + j * len, parts[i], len);
        text[n * len] = '\0';
        struct snap_regex *regex = snap_regex_new(text, NULL);
        if (regex)
            (void)snap_regex_search(regex, "bbb");
        snap_regex_free(regex);
        free(text);
    }
}
END_TEST

/* An alternative that takes too long is an error, unless one before it matched. */
START_TEST(test_endless)
{
    char slow[] = "name~=^(a?){30}a{30}$", fast[] = "kind==active";
    char *texts[] = {slow, fast};
    struct snap_filter *filter = NULL;
    struct snap_info a = info_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", SNAP_ACTIVE);
    ck_assert_int_eq(snap_filter_new(texts, 2, &filter, NULL), GRPC_OK);
    ck_assert_int_eq(snap_filter_match(filter, &a), -1);
    snap_filter_free(filter);
    texts[0] = fast;
    texts[1] = slow;
    ck_assert_int_eq(snap_filter_new(texts, 2, &filter, NULL), GRPC_OK);
    ck_assert_int_eq(snap_filter_match(filter, &a), 1);
    snap_filter_free(filter);
}
END_TEST

START_TEST(test_labels)
{
    struct ocv_buffer labels;
    char big[SNAP_LABEL_MAX + 1];
    const char *key, *value;
    size_t at = 0;
    snap_labels_init(&labels);
    ck_assert_int_eq(snap_labels_set(&labels, "b", "2", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "a", "1", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "c", "3", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "b", "twenty", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "a", "", NULL), GRPC_OK);
    ck_assert(snap_labels_next(&labels, &at, &key, &value));
    ck_assert_str_eq(key, "b");
    ck_assert_str_eq(value, "twenty");
    ck_assert(snap_labels_next(&labels, &at, &key, &value));
    ck_assert_str_eq(key, "c");
    ck_assert(!snap_labels_next(&labels, &at, &key, &value));
    ck_assert_ptr_null(snap_labels_get(&labels, "a"));
    memset(big, 'x', sizeof(big));
    big[SNAP_LABEL_MAX - 1] = '\0';
    ck_assert_int_eq(snap_labels_set(&labels, "k", big, NULL), GRPC_OK); /* at the limit */
    ck_assert_int_eq(snap_labels_set(&labels, "kk", big, NULL), GRPC_INVALID_ARGUMENT);
    ocv_buffer_free(&labels);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshotter_filter");
    TCase *tcase = tcase_create("filter");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_filters);
    tcase_add_test(tcase, test_several);
    tcase_add_test(tcase, test_regex);
    tcase_add_test(tcase, test_regex_size);
    tcase_add_test(tcase, test_endless);
    tcase_add_test(tcase, test_labels);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
