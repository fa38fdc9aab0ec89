/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that are not in the vocabulary, and which was meant. */
#include "ocivariant/vocabulary.h"
#include "test/unit/core_util.h"

static const struct {
    const char *ns, *feature, *value, *meant;
    enum ocv_word wrong;
} words[] = {
    {"nvidia", "sm_arch", "90_real", "", OCV_WORD_KNOWN},
    {"nvidia", "sm_arch", NULL, "", OCV_WORD_KNOWN},
    {"nvidia", NULL, NULL, "", OCV_WORD_KNOWN},
    {"amd", "xnack", "on", "", OCV_WORD_KNOWN},
    {"nvidai", "sm_arch", "90_real", "nvidia", OCV_WORD_NAMESPACE},
    {"no_such_vendor", NULL, NULL, "", OCV_WORD_NAMESPACE},
    {"nvidia", "sm_arhc", "90_real", "sm_arch", OCV_WORD_FEATURE},
    {"nvidia", "something_else", NULL, "", OCV_WORD_FEATURE},
    /* of another namespace */
    {"nvidia", "gfx_arch", NULL, "", OCV_WORD_FEATURE},
    /* a product, a prefix, a suffix */
    {"nvidia", "sm_arch", "H100", "90_real", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "rtx_4090", "89_real", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "sm_90", "90_real", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "compute_90", "90_real", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "90", "90_real", OCV_WORD_VALUE},
    {"nvidia", "cuda_version_lower_bound", "128", "12.8", OCV_WORD_VALUE},
    {"nvidia", "cuda_version_lower_bound", "12.8.1", "12.8", OCV_WORD_VALUE},
    {"amd", "gfx_arch", "mi300x", "gfx942", OCV_WORD_VALUE},
    {"amd", "xnack", "onn", "on", OCV_WORD_VALUE},
    /* nothing is near */
    {"nvidia", "sm_arch", "zzz", "", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "", "", OCV_WORD_VALUE},
    {"amd", "xnack", "perhaps", "", OCV_WORD_VALUE},
    {"nvidia", "sm_arch", "a_value_that_is_much_too_long_to_be_one_of_a_pattern_and_goes_on_and_on",
     "", OCV_WORD_VALUE},
};

START_TEST(what_was_meant)
{
    char meant[OCV_WORD_MAX] = "";
    ck_assert_int_eq(ocv_vocabulary_check(words[_i].ns, words[_i].feature, words[_i].value, meant),
                     words[_i].wrong);
    ck_assert_str_eq(meant, words[_i].meant);
    ck_assert_int_eq(ocv_vocabulary_check(words[_i].ns, words[_i].feature, words[_i].value, NULL),
                     words[_i].wrong);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("vocabulary");
    TCase *tcase = tcase_create("meant");
    tcase_add_loop_test(tcase, what_was_meant, 0, sizeof(words) / sizeof(*words));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
