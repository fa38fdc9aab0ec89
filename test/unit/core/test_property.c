/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties, lists of them, labels. */
#include "test/unit/core_util.h"

static const struct {
    const char *text, *canonical; /* NULL: malformed */
} lists[] = {
    {"", ""},
    {" \t\n", ""},
    {"a :: b :: c", "a :: b :: c"},
    {"a::b::c", "a :: b :: c"},
    {"  a\t::\nb ::  c  ", "a :: b :: c"},
    {"b::c::d, a::b::c", "a :: b :: c, b :: c :: d"},
    {"a::b::c,a :: b :: c", "a :: b :: c"},
    {"a::b::10, a::b::9, a::b::1.0", "a :: b :: 1.0, a :: b :: 10, a :: b :: 9"},
    {"a_b::c::d, ab::c::d, a::c::d", "a :: c :: d, a_b :: c :: d, ab :: c :: d"},
    {"a::b::..", "a :: b :: .."},
    {"a::b", NULL},
    {"a::b::c::d", NULL},
    {"a:b:c", NULL},
    {"a::b::", NULL},
    {"::b::c", NULL},
    {"a:: ::c", NULL},
    {"A::b::c", NULL},
    {"a::b::C", NULL},
    {"a.b::c::d", NULL},
    {"a::b.c::d", NULL},
    {"a::b::c-d", NULL},
    {"a::b::c d", NULL},
    {"a::b::c,", NULL},
    {",a::b::c", NULL},
    {"a::b::c,,d::e::f", NULL},
    {"a :::: b :: c", NULL},
    {"a::b::c;d::e::f", NULL},
    {"a::b::\xc3\xa9", NULL},
};

START_TEST(test_lists)
{
    ocv_auto(ocv_properties) set = NULL;
    struct ocv_error err = {0};
    int status = ocv_properties_parse(lists[_i].text, strlen(lists[_i].text), &set, &err);
    if (!lists[_i].canonical) {
        ck_assert_int_eq(status, OCV_ERR_DATA);
        ck_assert_str_ne(err.message, "");
        return;
    }
    ck_assert_int_eq(status, OCV_OK);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    ck_assert_int_eq(ocv_properties_format(set, &text, NULL), OCV_OK);
    ck_assert_str_eq(text.data ? text.data : "", lists[_i].canonical);
}
END_TEST

/* `n` properties of 7 bytes and a comma each. */
static size_t fill(char *out, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, 16, "%sa::%c::%c", i ? "," : "",
                               "abcdefghijklmnopqrstuvwxyz"[i / 26],
                               "abcdefghijklmnopqrstuvwxyz"[i % 26]);
    return at;
}

START_TEST(test_limits)
{
    static char text[OCV_ENTRY_PROPERTIES_BYTES_MAX + 4000];
    ocv_auto(ocv_properties) set = NULL;
    struct ocv_error err = {0};
    size_t len = fill(text, 400);
    memset(text + len, ' ', OCV_ENTRY_PROPERTIES_BYTES_MAX + 1 - len);
    ck_assert_int_eq(ocv_properties_parse(text, OCV_ENTRY_PROPERTIES_BYTES_MAX, &set, &err),
                     OCV_OK);
    ck_assert_uint_eq(ocv_properties_count(set), 400);
    struct ocv_properties *no = NULL;
    ck_assert_int_eq(ocv_properties_parse(text, OCV_ENTRY_PROPERTIES_BYTES_MAX + 1, &no, &err),
                     OCV_ERR_DATA);
    ck_assert_ptr_null(no);
}
END_TEST

START_TEST(test_count_limit)
{
    char text[OCV_ENTRY_PROPERTIES_BYTES_MAX] = "a::b::c";
    struct ocv_properties *set = NULL;
    struct ocv_error err = {0};
    memset(text + 7, ',', OCV_ENTRY_PROPERTIES_MAX); /* 513 pieces */
    ck_assert_int_eq(ocv_properties_parse(text, 7 + OCV_ENTRY_PROPERTIES_MAX, &set, &err),
                     OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "512"));
    ck_assert_int_eq(ocv_properties_parse(text, 6 + OCV_ENTRY_PROPERTIES_MAX, &set, &err),
                     OCV_ERR_DATA); /* 512 pieces: read, and the empty ones are malformed */
    ck_assert_ptr_null(strstr(err.message, "512"));
}
END_TEST

static const struct {
    const char *text;
    bool readable, writable;
} labels[] = {
    {"a", true, true},
    {"null", true, true},
    {"cuda12.8_sm90", true, true},
    {"", false, false},
    {".", false, false},
    {"..", false, false},
    {"...", true, false},
    {"a.", true, false},
    {".a", true, false},
    {"_a", true, false},
    {"a__b", true, false},
    {"a._b", true, false},
    {"A", false, false},
    {"a-b", false, false},
    {"a b", false, false},
    {"a/b", false, false},
    {"\xc3\xa9", false, false},
    {"012345678901234567890123456789012345678901234567", true, true},
    {"0123456789012345678901234567890123456789012345678", true, false},
    {"012345678901234567890123456789012345678901234567890123456789012", true, false},
    {"0123456789012345678901234567890123456789012345678901234567890123", false, false},
};

START_TEST(test_labels)
{
    const char *s = labels[_i].text;
    ck_assert_int_eq(ocv_label_readable(s, strlen(s)), labels[_i].readable);
    ck_assert_int_eq(ocv_label_valid(s, strlen(s)), labels[_i].writable);
}
END_TEST

START_TEST(test_names)
{
    ck_assert(ocv_property_name_valid("a_0", 3));
    ck_assert(!ocv_property_name_valid("", 0));
    ck_assert(!ocv_property_name_valid("a.", 2));
    ck_assert(!ocv_property_name_valid("a\0b", 3));
    ck_assert(ocv_property_value_valid("1.0", 3));
    ck_assert(!ocv_property_value_valid("1-0", 3));
    ck_assert(ocv_vocabulary_owns("nvidia"));
    ck_assert(ocv_vocabulary_owns("x86_64"));
    ck_assert(!ocv_vocabulary_owns("priority"));
    ck_assert(!ocv_vocabulary_owns(""));
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("property");
    TCase *tcase = tcase_create("property");
    tcase_add_loop_test(tcase, test_lists, 0, N(lists));
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_count_limit);
    tcase_add_loop_test(tcase, test_labels, 0, N(labels));
    tcase_add_test(tcase, test_names);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
