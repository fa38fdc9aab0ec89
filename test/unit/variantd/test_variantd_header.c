/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/httpd.h"
#include "test/unit/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *value;
    bool wanted;
} accept_cases[] = {
    {"*/*", true},
    {"a/b", true},
    {"A/B", true},
    {"c/d, a/b", true},
    {"c/d,a/b;q=0.1", true},
    {"a/*", true},
    {"a/b ; q=1.000", true},
    {"a/b;q=0, */*", true},
    {"a/b;charset=q=0", true},
    {",,, a/b", true},
    {"", false},
    {" ", false},
    {",", false},
    {"c/d", false},
    {"a/bc", false},
    {"a", false},
    {"a/b;q=0", false},
    {"a/b; q=0.000", false},
    {"a/b;x=1;q=0", false},
    {"*/*;q=0", false},
    {"*/b", false},
    {"aa/*", false},
    {"*", false},
};

START_TEST(accepted)
{
    ck_assert_msg(header_accepts(accept_cases[_i].value, "a/b") == accept_cases[_i].wanted, "%s",
                  accept_cases[_i].value);
}
END_TEST

static const struct {
    const char *value;
    bool ok;
    int64_t from, end;
} range_cases[] = {
    {"bytes=0-", true, 0, 99},
    {"bytes=0-0", true, 0, 0},
    {"bytes=99-", true, 99, 99},
    {"bytes=10-19", true, 10, 19},
    {"bytes=10-1000", true, 10, 99},
    {"bytes=-1", true, 99, 99},
    {"bytes=-100", true, 0, 99},
    {"bytes=-1000", true, 0, 99},
    {"bytes=0-999999999999999999", true, 0, 99},
    {"bytes=100-", false, 0, 0},
    {"bytes=999999999999999999-", false, 0, 0},
    {"bytes=20-10", false, 0, 0},
    {"bytes=-0", false, 0, 0},
    {"bytes=-", false, 0, 0},
    {"bytes=", false, 0, 0},
    {"bytes=1", false, 0, 0},
    {"bytes=1-2-3", false, 0, 0},
    {"bytes=1-2,4-5", false, 0, 0},
    {"bytes=0-99999999999999999999", false, 0, 0},
    {"bytes=00000000000000000000000000000000000000000000000000000000-1", false, 0, 0},
    {"lines=1-2", false, 0, 0},
    {"bytes = 1-2", false, 0, 0},
    {"", false, 0, 0},
};

START_TEST(range)
{
    int64_t from = 0, end = 0;
    bool ok = header_range_of(range_cases[_i].value, 100, &from, &end);
    ck_assert_msg(ok == range_cases[_i].ok, "%s", range_cases[_i].value);
    if (ok) {
        ck_assert_int_eq(from, range_cases[_i].from);
        ck_assert_int_eq(end, range_cases[_i].end);
    }
    ck_assert(!header_range_of(range_cases[_i].value, 0, &from, &end));
}
END_TEST

START_TEST(single)
{
    ck_assert(header_range_single("bytes=1-2"));
    ck_assert(!header_range_single("bytes=1-2,3-4"));
    ck_assert(!header_range_single("bytes=1-2\r\nX: y"));
    ck_assert(!header_range_single("none"));
}
END_TEST

START_TEST(host)
{
    static const char *const names[] = {"node7.example", "proxy:5050"};
    static const char *const ours[] = {"localhost",       "LOCALHOST:5050",  "localhost.:1",
                                       "127.0.0.1",       "127.0.0.1:5050",  "[::1]",
                                       "[::1]:5050",      "172.17.0.1:5050", "node7.example:80",
                                       "Node7.Example",   "proxy:5050",      "",
                                       "ip6-localhost:50"};
    static const char *const foreign[] = {"attacker.example",
                                          "attacker.example:5050",
                                          "localhost.attacker.example",
                                          "127.0.0.1.attacker.example:5050",
                                          "127.0.0.1@attacker.example",
                                          "node7.example.attacker.example",
                                          "proxy",
                                          "proxy:5051",
                                          "localhost, attacker.example",
                                          "localhost:80:attacker",
                                          "2130706433",
                                          "127.1",
                                          "[::1",
                                          "::1]",
                                          "[]",
                                          ":5050",
                                          "."};
    char longest[300];
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        ck_assert_msg(header_host_is_ours(ours[i], names, 2), "%s", ours[i]);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        ck_assert_msg(!header_host_is_ours(foreign[i], names, 2), "%s", foreign[i]);
    ck_assert(!header_host_is_ours("node7.example", NULL, 0));
    memset(longest, 'a', sizeof(longest));
    for (size_t len = 250; len < sizeof(longest); len++) {
        const char *const one = longest;
        longest[len] = '\0';
        ck_assert(header_host_is_ours(longest, &one, 1) == (len < 256));
        longest[len] = 'a';
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd header");
    TCase *tcase = tcase_create("header");
    tcase_add_loop_test(tcase, accepted, 0, sizeof(accept_cases) / sizeof(*accept_cases));
    tcase_add_loop_test(tcase, range, 0, sizeof(range_cases) / sizeof(*range_cases));
    tcase_add_test(tcase, single);
    tcase_add_test(tcase, host);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
