/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/tags/assume.c: what holds of a tag's image unless the tag says otherwise. */
#include "lib/internal/tags/tags.h"
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
    "  - {match: 'cuda([0-9.]+)', kind: cuda, gives: ['nvidia :: cuda_version_lower_bound :: "
    "\\1']}\n"
    "  - {match: 'sm([0-9]+)', kind: sm, gives: ['nvidia :: sm_arch :: \\1_real']}\n"
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
    /* nothing in common means that it is not a variant */
    check("demo/app:1.0-rocm7-other", "",
          "of what is assumed, 'amd :: gfx_arch :: gfx942' and others exclude each other");
    check("demo/app:1.0-wide", "", NULL);
}
END_TEST

/* How many of its properties are assumed, and one of them. */
static void check_assumed(const char *reference, size_t wanted, const char *one)
{
    ocv_auto(ocv_reference) ref = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto_buffer got;
    struct ocv_error err = {0};
    ocv_buffer_init(&got, 4096);
    ck_assert_int_eq(ocv_reference_parse(reference, &ref, &err), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, ref, NULL, &tag, &err), OCV_OK);
    ck_assert_msg(ocv_tag_assumed(tag, &set, &err) == OCV_OK, "%s", err.message);
    ck_assert_uint_eq(ocv_properties_count(set), wanted);
    ck_assert_int_eq(ocv_properties_format(set, &got, &err), OCV_OK);
    ck_assert_msg(!one || strstr(got.data, one), "%s: %s", reference, got.data);
}

START_TEST(what_is_assumed)
{
    check_assumed("demo/app:1.0-rocm7", 3, "amd :: gfx_arch :: gfx942");
    check_assumed("demo/app:1.0-rocm7-gfx1100", 1, "amd :: xnack :: on");
    check_assumed("demo/app:1.0-gfx1100", 0, NULL);
    check_assumed("demo/app:1.0-wide", 0, NULL);
    check_assumed("demo/app:1.0-rocm7-other", 0, NULL); /* ambiguous: nothing is taken */
    /* all that CUDA 12.8 compiles for, and not its version */
    check_assumed("demo/app:1.0-cuda12.8", 16, "nvidia :: sm_arch :: 120_real");
    check_assumed("demo/app:1.0-cuda12.8-sm90", 0, NULL);
    check_assumed("other/app:1.0-cuda12.8", 0, NULL); /* no rule knows it */
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

RUN_TESTS_IN("tag_assume", load, unload, assumptions, what_is_assumed, mistakes)
