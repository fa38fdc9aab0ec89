/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/tags/assume.c: what holds of a tag's image unless the tag says otherwise. */
#include "lib/tags/tags.h"
#include "test/unit/core_util.h"

static struct ocv_tag_rules *rules;

static const char text[] =
    "schema: dev.ocivariant.tags/v1\n"
    "family: demo\n"
    "repositories: [docker.io/demo/app]\n"
    "parts:\n"
    "  - {match: 'rocm([0-9])', kind: device, gives: ['amd :: rocm_user_space :: \\1.0'],\n"
    "     assumes: ['amd :: gfx_arch :: gfx942', 'amd :: gfx_arch :: gfx90a', "
    "'amd :: xnack :: on']}\n"
    "  - {match: 'gfx[0-9a-f]+', kind: gfx, gives: ['amd :: gfx_arch :: \\0']}\n"
    "  - {match: '[0-9]\\.[0-9]', group: version}\n"
    "  - {match: 'narrow|wide|other', group: flavor}\n"
    "defaults:\n"
    "  - {missing: gfx, where: {flavor: narrow}, assumes: ['amd :: gfx_arch :: gfx908', "
    "'amd::gfx_arch::gfx90a', 'amd :: gfx_arch :: gfx90a']}\n"
    "  - {missing: gfx, where: {flavor: other}, assumes: ['amd :: gfx_arch :: gfx1100']}\n";

static void check(const char *reference, const char *wanted, const char *ambiguous)
{
    ocv_auto(ocv_reference) ref = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto_buffer got;
    const char *const *list;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_reference_parse(reference, &ref, &err), OCV_OK);
    ck_assert_msg(ocv_tag_parse(rules, ref, NULL, &tag, &err) == OCV_OK, "%s", err.message);
    ocv_buffer_init(&got, 4096);
    ck_assert_int_eq(ocv_properties_format(ocv_tag_properties(tag), &got, &err), OCV_OK);
    ck_assert_msg(strcmp(got.data ? got.data : "", wanted) == 0, "%s: %s", reference, got.data);
    size_t n = ocv_tag_list(tag, OCV_TAG_AMBIGUOUS, &list);
    ck_assert_uint_eq(n, ambiguous ? 1 : 0);
    ck_assert_msg(!ambiguous || strcmp(list[0], ambiguous) == 0, "%s", n ? list[0] : "");
}

START_TEST(assumptions)
{
    check("demo/app:1.0-rocm7",
          "amd :: gfx_arch :: gfx90a, amd :: gfx_arch :: gfx942, amd :: rocm_user_space :: 7.0, "
          "amd :: xnack :: on",
          NULL);
    /* what the tag says itself stands for its feature, and for no other */
    check("demo/app:1.0-rocm7-gfx1100",
          "amd :: gfx_arch :: gfx1100, amd :: rocm_user_space :: 7.0, amd :: xnack :: on", NULL);
    /* two lists: what both have */
    check("demo/app:1.0-rocm7-narrow",
          "amd :: gfx_arch :: gfx90a, amd :: rocm_user_space :: 7.0, amd :: xnack :: on", NULL);
    check("demo/app:1.0-narrow", "amd :: gfx_arch :: gfx908, amd :: gfx_arch :: gfx90a", NULL);
    /* nothing in common is no variant of anything */
    check("demo/app:1.0-rocm7-other", "",
          "of what is assumed, 'amd :: gfx_arch :: gfx942' and others exclude each other");
    check("demo/app:1.0-wide", "", NULL);
}
END_TEST

START_TEST(mistakes)
{
    static const struct {
        const char *assumes, *words;
    } all[] = {{"['amd :: gfx_arch']", "'amd :: gfx_arch' is not 'namespace :: feature :: value'"},
               {"gfx942", "must be a list"},
               {"['amd :: gfx_arch :: \\1']", "asks for more than the pattern's parentheses"}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        char bad[1024];
        struct ocv_error err = {0};
        snprintf(bad, sizeof(bad),
                 "schema: dev.ocivariant.tags/v1\nfamily: bad\nrepositories: [docker.io/a/b]\n"
                 "parts:\n  - {match: '([0-9]+)', assumes: %s}\n",
                 all[i].assumes);
        ck_assert_int_eq(ocv_tag_rules_add(rules, "bad.yaml", bad, strlen(bad), NULL, &err),
                         OCV_ERR_DATA);
        ck_assert_msg(strstr(err.message, all[i].words) != NULL, "%s", err.message);
        ck_assert_msg(strstr(err.message, "bad.yaml:5") != NULL, "%s", err.message);
    }
}
END_TEST

static void load(void)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    ck_assert_msg(ocv_tag_rules_add(rules, "r.yaml", text, strlen(text), NULL, &err) == OCV_OK,
                  "%s", err.message);
}

static void unload(void)
{
    ocv_tag_rules_free(rules);
}

int main(void)
{
    Suite *suite = suite_create("tag_assume");
    TCase *tcase = tcase_create("tag_assume");
    tcase_add_checked_fixture(tcase, load, unload);
    tcase_add_test(tcase, assumptions);
    tcase_add_test(tcase, mistakes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
