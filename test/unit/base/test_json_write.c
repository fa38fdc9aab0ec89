/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writer of JSON against jansson's: the same bytes. */
#include "lib/base/format/json.h"
#include "test/unit/core_util.h"

#include <stdint.h>

static const char *const texts[] = {
    "",
    "plain",
    "\"quoted\" \\ / \b\f\n\r\t",
    "\x01\x1f\x7f",
    "h\xc3\xa9 \xe2\x80\xae \xf0\x9f\x98\x80",
};

/* {"text": ..., "none": null, "least": ..., "empty": [], "list": [{}, [...]]} */
static void write_document(struct ocv_json_writer *w, const char *text)
{
    ocv_json_write_open(w, NULL, '{');
    ocv_json_write_string(w, "te\"xt", text);
    ocv_json_write_string(w, "none", NULL);
    ocv_json_write_number(w, "least", INT64_MIN);
    ocv_json_write_open(w, "empty", '[');
    ocv_json_write_close(w, ']');
    ocv_json_write_open(w, "list", '[');
    ocv_json_write_open(w, NULL, '{');
    ocv_json_write_close(w, '}');
    ocv_json_write_open(w, NULL, '[');
    ocv_json_write_string(w, NULL, text);
    ocv_json_write_number(w, NULL, INT64_MAX);
    ocv_json_write_close(w, ']');
    ocv_json_write_close(w, ']');
    ocv_json_write_close(w, '}');
}

START_TEST(test_same_as_jansson)
{
    const char *text = texts[_i];
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 4096);
    struct ocv_json_writer w = {.out = &out};
    write_document(&w, text);
    ck_assert_int_eq(w.status, OCV_OK);
    json_t *tree =
        json_pack("{s:s, s:n, s:I, s:[], s:[{}, [s, I]]}", "te\"xt", text, "none", "least",
                  (json_int_t)INT64_MIN, "empty", "list", text, (json_int_t)INT64_MAX);
    ck_assert_ptr_nonnull(tree);
    char *expected = json_dumps(tree, JSON_INDENT(2));
    ck_assert_str_eq(out.data, expected);
    ck_assert_uint_eq(out.len, strlen(expected));
    free(expected);
    json_decref(tree);
}
END_TEST

/* The first failure stays, and what was there before it. */
START_TEST(test_full)
{
    struct ocv_error err = {0};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 64);
    struct ocv_json_writer w = {.out = &out, .err = &err};
    ocv_json_write_open(&w, NULL, '{');
    ocv_json_write_string(&w, "long", "0123456789012345678901234567890123456789");
    ck_assert_int_eq(w.status, OCV_ERR_DATA);
    ocv_json_write_string(&w, "s", "");
    ocv_json_write_number(&w, "n", 1);
    ocv_json_write_close(&w, '}');
    ck_assert_int_eq(w.status, OCV_ERR_DATA);
    ck_assert_str_eq(out.data, "{");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("json_write");
    TCase *tcase = tcase_create("json_write");
    tcase_add_loop_test(tcase, test_same_as_jansson, 0, sizeof(texts) / sizeof(*texts));
    tcase_add_test(tcase, test_full);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
