/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error object and buffers: nothing overflows, nothing unprintable comes out. */
#include "lib/base/exit_code.h"
#include "test/unit/core_util.h"

START_TEST(test_set)
{
    struct ocv_error err = {.hint = "old", .http_status = 404};
    ck_assert_int_eq(ocv_error_set(&err, OCV_ERR_DATA, "a\x1b[31m\n%s", "\x7f"), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "a?[31m??");
    ck_assert_str_eq(err.hint, "");
    ck_assert_int_eq(err.http_status, 0);
    ck_assert_int_eq(ocv_error_prefix(&err, "b%d", 1), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "b1: a?[31m??");
    ck_assert_int_eq(ocv_error_set(&err, OCV_ERR_IO, "[%s]", err.message), OCV_ERR_IO);
    ck_assert_str_eq(err.message, "[b1: a?[31m??]");
    ocv_error_hint(&err, "try %s", "\n");
    ck_assert_str_eq(err.hint, "try ?");
    ck_assert_int_eq(ocv_error_set(NULL, OCV_ERR_IO, "x"), OCV_ERR_IO);
    ck_assert_int_eq(ocv_error_prefix(NULL, "x"), OCV_ERR_INVALID);
    ocv_error_hint(NULL, "x");
    ck_assert_int_eq(ocv_error_nomem(NULL), OCV_ERR_NOMEM);
}
END_TEST

START_TEST(test_utf8)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"},
        {"\xe2\x82", "??"},
        {"\xf0\x9f\x98", "???"},
        {"\xc3", "?"},
        {"\x80\xbf", "??"},
        {"\xc0\xaf", "??"},
        {"\xe0\x80\xaf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xff\xfe", "??"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* C1's control sequence introducer */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\xe2\x82\xe2\x82\xac", "??\xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_error err = {0};
        ocv_error_set(&err, OCV_ERR_DATA, "%s", cases[i].in);
        ck_assert_str_eq(err.message, cases[i].out);
    }
}
END_TEST

START_TEST(test_long)
{
    struct ocv_error err = {0};
    char text[3000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    ocv_error_set(&err, OCV_ERR_DATA, "%s", text);
    ck_assert_uint_eq(strlen(err.message), OCV_ERROR_MESSAGE_MAX - 1);
    ocv_error_prefix(&err, "%s", text);
    ocv_error_prefix(&err, "short");
    ck_assert_uint_eq(strlen(err.message), OCV_ERROR_MESSAGE_MAX - 1);
    ck_assert_int_eq(strncmp(err.message, "short: xxx", 10), 0);
    ocv_error_hint(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.hint), OCV_ERROR_HINT_MAX - 1);
}
END_TEST

START_TEST(test_exit_codes)
{
    static const int codes[] = {0, 1, 2, 2, 4, 4, 1, 1, 1, 1, 3, 1, 130, 1, 5};
    for (int i = 0; i < (int)(sizeof(codes) / sizeof(*codes)); i++)
        ck_assert_int_eq(ocv_error_exit_code((enum ocv_status) - i), codes[i]);
    ck_assert_int_eq(ocv_error_exit_code((enum ocv_status) - 999), 1);
}
END_TEST

START_TEST(test_buffer)
{
    ocv_auto_buffer b;
    struct ocv_error err = {0};
    ocv_buffer_init(&b, 10);
    ck_assert_ptr_null(b.data);
    ck_assert_int_eq(ocv_buffer_append(&b, "12345", 5, &err), OCV_OK);
    ck_assert_int_eq(ocv_buffer_printf(&b, &err, "%d", 67890), OCV_OK);
    ck_assert_str_eq(b.data, "1234567890");
    ck_assert_int_eq(ocv_buffer_append(&b, "", 0, &err), OCV_OK);
    ck_assert_int_eq(ocv_buffer_append(&b, "x", 1, &err), OCV_ERR_DATA);
    ck_assert_int_eq(ocv_buffer_append(&b, "x", SIZE_MAX, &err), OCV_ERR_DATA);
    ck_assert_int_eq(ocv_buffer_printf(&b, &err, "x"), OCV_ERR_DATA);
    ck_assert_str_eq(b.data, "1234567890"); /* a failed append changes nothing */
    ocv_buffer_free(&b);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_uint_eq(b.max, 10);
    ocv_buffer_free(NULL);
}
END_TEST

START_TEST(test_unlimited_buffer)
{
    ocv_auto_buffer b;
    ocv_buffer_init(&b, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(ocv_buffer_append(&b, "0123456789", 10, NULL), OCV_OK);
    ck_assert_uint_eq(strlen(b.data), 10000);
}
END_TEST

RUN_TESTS("error", test_set, test_utf8, test_long, test_exit_codes, test_buffer,
          test_unlimited_buffer)
