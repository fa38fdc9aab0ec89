/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/base/format/json_walk.c: what is told of a text, and what is malformed. */
#include "lib/base/format/json.h"

#include "test/unit/core_util.h"

static char told[512];

static int tell(void *data, const struct ocv_json_at *at)
{
    size_t n = strlen(told);
    (void)data;
    for (unsigned i = 0; i < at->depth; i++, n = strlen(told))
        snprintf(told + n, sizeof(told) - n, "%s/", at->keys[i]);
    snprintf(told + n, sizeof(told) - n, "%c%s ", at->kind, at->text ? at->text : "");
    return at->text && strcmp(at->text, "stop") == 0 ? 7 : 0;
}

static int walk(const char *text)
{
    told[0] = '\0';
    return ocv_json_walk(text, strlen(text), tell, NULL, NULL);
}

START_TEST(each_value_is_told_with_its_place)
{
    ck_assert_int_eq(
        walk(" {\"tags\" : [\"a\", \"b\"], \"n\": -1.5e3, \"o\":{\"p\":null}, \"q\":true} "),
        OCV_OK);
    ck_assert_str_eq(told, "{ tags/[ tags/[]/\"a tags/[]/\"b n/0-1.5e3 o/{ o/p/n q/b ");
    ck_assert_int_eq(walk("{\"a\":\"stop\",\"b\":\"x\"}"), 7);
    ck_assert_str_eq(told, "{ a/\"stop ");
    /* what lies deeper is read, and not told */
    ck_assert_int_eq(walk("{\"a\":{\"b\":{\"c\":{\"d\":1}}}}"), OCV_OK);
    ck_assert_str_eq(told, "{ a/{ a/b/{ a/b/c/{ ");
    ck_assert_int_eq(walk("{}"), OCV_OK);
    ck_assert_int_eq(walk("{\"a\":[],\"b\":{}}"), OCV_OK);
}
END_TEST

START_TEST(strings_are_decoded)
{
    ck_assert_int_eq(walk("{\"k\\u0065y\":\"\\\"\\\\\\/\\n\\u00e9\\u20ac\\ud83d\\ude00\"}"),
                     OCV_OK);
    ck_assert_str_eq(told, "{ key/\"\"\\/\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ");
    /* a key of 31 characters, and one more */
    ck_assert_int_eq(
        walk("{\"0123456789012345678901234567890\":1,\"01234567890123456789012345678901\":2}"),
        OCV_OK);
    ck_assert_str_eq(told, "{ 0123456789012345678901234567890/01 /02 ");
}
END_TEST

START_TEST(what_is_malformed_is_an_error)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "\"a\"",
                                      "{",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{\"a\":1 2}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":[1 2]}",
                                      "{} x",
                                      "{\"a\":tru}",
                                      "{\"a\":\"x",
                                      "{\"a\":\"\\",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"\\ud800\"}",
                                      "{\"a\":\"\\udc00\"}",
                                      "{\"a\":\"\\ud800\\u0041\"}",
                                      "{\"a\":\"\n\"}",
                                      "{a:1}",
                                      "{\"a\":nul}",
                                      "{\"a\":[1}",
                                      "{,}",
                                      "{\"a\":\"\\u00g0\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(walk(bad[i]) == OCV_ERR_DATA, "%s", bad[i]);
}
END_TEST

START_TEST(levels_have_a_limit)
{
    for (unsigned n = OCV_JSON_WALK_DEPTH - 1; n <= OCV_JSON_WALK_DEPTH; n++) {
        char text[2 * OCV_JSON_WALK_DEPTH + 16] = "{\"a\":";
        memset(text + 5, '[', n);
        memset(text + 5 + n, ']', n);
        text[5 + 2 * n] = '}';
        ck_assert_int_eq(walk(text), n < OCV_JSON_WALK_DEPTH ? OCV_OK : OCV_ERR_DATA);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("json walk");
    TCase *tcase = tcase_create("walk");
    tcase_add_test(tcase, each_value_is_told_with_its_place);
    tcase_add_test(tcase, strings_are_decoded);
    tcase_add_test(tcase, what_is_malformed_is_an_error);
    tcase_add_test(tcase, levels_have_a_limit);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
