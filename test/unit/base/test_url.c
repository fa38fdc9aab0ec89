/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/format/encodings.h"

#include "test/unit/core_util.h"

static const struct {
    const char *text, *plain, *escaped;
} cases[] = {
    {"", "", ""},
    {"azAZ09", "", "azAZ09"},
    {"a-._~b", OCV_URL_UNRESERVED, "a-._~b"},
    {"a-b", "", "a%2Db"},
    {"a/b@c:d+e", OCV_URL_UNRESERVED "/@", "a/b@c%3Ad%2Be"},
    {"\x01 %\x7f\xc3\xa9\xff", OCV_URL_UNRESERVED, "%01%20%25%7F%C3%A9%FF"},
    {"[`{", "", "%5B%60%7B"}, /* beside the letters */
};

START_TEST(test_escape)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 64);
    ck_assert_int_eq(ocv_url_escape(cases[_i].text, cases[_i].plain, &out, NULL), OCV_OK);
    ck_assert_str_eq(out.data ? out.data : "", cases[_i].escaped);
}
END_TEST

/* An escape that does not fit is not cut in two. */
START_TEST(test_limit)
{
    struct ocv_error err = {0};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 4);
    ck_assert_int_eq(ocv_url_escape("a/", "", &out, &err), OCV_OK);
    ck_assert_str_eq(out.data, "a%2F");
    out.len = 0;
    ck_assert_int_eq(ocv_url_escape("ab/", "", &out, &err), OCV_ERR_DATA);
    ck_assert_str_eq(out.data, "ab");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("url");
    TCase *tcase = tcase_create("url");
    tcase_add_loop_test(tcase, test_escape, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_test(tcase, test_limit);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
