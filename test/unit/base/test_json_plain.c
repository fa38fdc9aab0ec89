/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of plain JSON against jansson: the same tree, or nothing. */
#include "lib/base/format/json.h"
#include "test/unit/core_util.h"

static const char *const plain[] = {
    "{}",
    " {\r\n\t} ",
    "{\"\": [], \"a\": [{}, [[]], true, false, null, \"\", \"x y~/\"]}",
    "{\"n\": [0, -0, 7, -7, 999999999999999999, -999999999999999999]}",
    "{\"a\" : {\"b\" :[1 ,2 ] , \"c\":\"d\"} }",
};

/* Some of it JSON, some not. */
static const char *const others[] = {
    "",
    " ",
    "{",
    "}",
    "[]",
    "1",
    "\"a\"",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{\"a\":1 \"b\":2}",
    "{,}",
    "{\"a\":[1,]}",
    "{\"a\":[,1]}",
    "{\"a\":[1}",
    "{\"a\":1]",
    "{\"a\":1}}",
    "{\"a\":1} x",
    "{\"a\":1}{}",
    "{a:1}",
    "{'a':1}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":{\"b\":1,\"c\":2,\"b\":1}}",
    "{\"a\":01}",
    "{\"a\":-}",
    "{\"a\":-01}",
    "{\"a\":+1}",
    "{\"a\":1.}",
    "{\"a\":1.5}",
    "{\"a\":1e2}",
    "{\"a\":1E2}",
    "{\"a\":1x}",
    "{\"a\":1-1}",
    "{\"a\":1000000000000000000}",
    "{\"a\":9223372036854775808}",
    "{\"a\":truex}",
    "{\"a\":tru}",
    "{\"a\":nul",
    "{\"a\":\"\\n\"}",
    "{\"a\\u0041\":1}",
    "{\"a\":\"\\u0000\"}",
    "{\"a\":\"\\",
    "{\"a\":\"\\\"",
    "{\"a\":\"\x01\"}",
    "{\"a\":\"\n\"}",
    "{\"a\":\"\x7f\"}",
    "{\"a\":\"h\xc3\xa9\"}",
    "{\"a\":\"\xff\"}",
    "{\"a\":\"b",
    "\xef\xbb\xbf{}",
    "\v{}",
};

START_TEST(test_plain)
{
    const char *text = plain[_i];
    bool nomem = true;
    ocv_auto_json *expected = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ocv_auto_json *json = ocv_json_plain(text, strlen(text), &nomem);
    ck_assert_ptr_nonnull(expected);
    ck_assert_ptr_nonnull(json);
    ck_assert(json_equal(json, expected));
    ck_assert(!nomem);
}
END_TEST

/* Left to jansson, so that what it refuses is refused with its message. */
START_TEST(test_others)
{
    const char *text = others[_i];
    bool nomem = true;
    ck_assert_ptr_null(ocv_json_plain(text, strlen(text), &nomem));
    ck_assert(!nomem);
}
END_TEST

/* No document that is cut off is taken, and none is read behind its end. */
START_TEST(test_cut)
{
    const char *text = plain[_i];
    size_t whole = (size_t)(strrchr(text, '}') - text) + 1;
    for (size_t len = 0; len < whole; len++) {
        bool nomem = true;
        char *copy = malloc(len ? len : 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text, len);
        ck_assert_ptr_null(ocv_json_plain(copy, len, &nomem));
        ck_assert(!nomem);
        free(copy);
    }
}
END_TEST

/* One byte changed: what is taken is what jansson takes. */
START_TEST(test_changed)
{
    char text[128];
    snprintf(text, sizeof(text), "%s", plain[_i]);
    size_t len = strlen(text), taken = 0;
    for (size_t i = 0; i < len; i++) {
        char before = text[i];
        for (int c = 0; c < 256; c++) {
            bool nomem;
            text[i] = (char)c;
            ocv_auto_json *json = ocv_json_plain(text, len, &nomem);
            ocv_auto_json *expected = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_msg(!json || json_equal(json, expected), "%s", text);
            taken += json != NULL;
        }
        text[i] = before;
    }
    ck_assert_uint_ge(taken, len); /* the document itself, as often as it has bytes */
}
END_TEST

static char *nested(size_t levels)
{
    static char text[4096] = "{\"a\":";
    char *at = text + strcspn(text, ":") + 1;
    for (size_t i = 1; i < levels; i++)
        *at++ = '[';
    for (size_t i = 1; i < levels; i++)
        *at++ = ']';
    *at++ = '}';
    *at = '\0';
    return text;
}

START_TEST(test_limits)
{
    bool nomem;
    char text[512];
    ocv_auto_json *deep = ocv_json_plain(nested(16), strlen(nested(16)), &nomem);
    ck_assert_ptr_nonnull(deep);
    ck_assert_ptr_null(ocv_json_plain(nested(17), strlen(nested(17)), &nomem));
    snprintf(text, sizeof(text), "{\"%0127d\":1}", 0);
    ocv_auto_json *longest = ocv_json_plain(text, strlen(text), &nomem);
    ck_assert_ptr_nonnull(longest);
    snprintf(text, sizeof(text), "{\"%0128d\":1}", 0);
    ck_assert_ptr_null(ocv_json_plain(text, strlen(text), &nomem));
    /* what is not plain is read nonetheless */
    json_t *json = NULL;
    ck_assert_int_eq(ocv_json_load("it", text, strlen(text), sizeof(text), &json, NULL), OCV_OK);
    json_decref(json);
    ck_assert_int_eq(ocv_json_load("it", nested(17), strlen(nested(17)), 4096, &json, NULL),
                     OCV_OK);
    json_decref(json);
}
END_TEST

/* Before there is a tree. An object counts three times, a list and a comma once. */
START_TEST(test_counted)
{
    static const char *const shapes[] = {"[0,1,2,3]", "{\"a\":1,\"b\":2}", "[\"a,[{\",{}]"};
    json_error_t where;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        size_t len = strlen(shapes[i]), values = i == 2 ? 6 : 5;
        ocv_auto_json *json = ocv_json_load_any(shapes[i], len, values, 0, &where);
        ck_assert_msg(json, "%s: %s", shapes[i], where.text);
        ck_assert_ptr_null(ocv_json_load_any(shapes[i], len, values - 1, 0, &where));
        ck_assert_msg(strstr(where.text, "more than") && where.line == 1, "%s", where.text);
        ck_assert_ptr_null(ocv_json_load_any(shapes[i], len, values - 1, 0, NULL));
    }
    ck_assert_ptr_null(ocv_json_load_any("[\n[}", 4, 9, 0, &where));
    ck_assert_int_eq(where.line, 2);
    ck_assert_ptr_null(ocv_json_load_any(NULL, 0, 9, 0, &where));
    ocv_auto_json *text = ocv_json_load_any("\"a\"", 3, 1, JSON_DECODE_ANY, NULL);
    ck_assert_str_eq(json_string_value(text), "a");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("json_plain");
    TCase *tcase = tcase_create("json_plain");
    tcase_add_loop_test(tcase, test_plain, 0, sizeof(plain) / sizeof(*plain));
    tcase_add_loop_test(tcase, test_others, 0, sizeof(others) / sizeof(*others));
    tcase_add_loop_test(tcase, test_cut, 0, sizeof(plain) / sizeof(*plain));
    tcase_add_loop_test(tcase, test_changed, 0, sizeof(plain) / sizeof(*plain));
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_counted);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
