/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which word was meant: by its distance, as the beginning of one, and never a lower version. The
 * vocabulary's own words check: each misspelling of one has to lead back to it. */
#include "gen/vocabulary.h"
#include "lib/base/text.h"
#include "test/unit/core_util.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

START_TEST(distances)
{
    ck_assert_uint_eq(ocv_nearest_distance("level", "level", 3), 0);
    ck_assert_uint_eq(ocv_nearest_distance("levle", "level", 3), 1);
    ck_assert_uint_eq(ocv_nearest_distance("lvl", "level", 3), 2);
    ck_assert_uint_eq(ocv_nearest_distance("", "ab", 3), 2);
    ck_assert_uint_eq(ocv_nearest_distance("abcdef", "uvwxyz", 3), 4);
    char longest[66];
    memset(longest, 'a', 65);
    longest[65] = '\0';
    ck_assert_uint_eq(ocv_nearest_distance(longest, longest, 3), 4);
    longest[64] = '\0';
    ck_assert_uint_eq(ocv_nearest_distance(longest, longest, 3), 0);
}
END_TEST

/* wrong, what is offered (joined by commas), meant */
static const struct {
    const char *wrong, *offered, *meant;
} words[] = {
    {"nvida", "amd,nvidia,intel", "nvidia"},
    {"nvidai", "amd,nvidia,intel", "nvidia"},
    {"nv", "amd,nvidia", "nvidia"},
    {"n", "nvidia", NULL},
    {"cuda_version", "sm_arch,cuda_version_lower_bound", "cuda_version_lower_bound"},
    {"cuda", "cuda12.6,cuda12.8", "cuda12.6"},
    {"cuda12.9", "cuda12.6,cuda12.8,cuda12.7", "cuda12.8"},
    {"cuda12.5", "cuda12.6,cuda12.4", "cuda12.6"},
    {"dokcer", "docker,podman", "docker"},
    {"explian", "explain,probe", "explain"},
    {"128", "12,13", NULL},
    {"128", "12,12.8", "12.8"},
    {"12", "12.0,11", "12.0"},
    {"12.10", "12.1,12.0", NULL},
    {"12.8.1", "12.8,12", "12.8"},
    {"12.8", "12,1", NULL},
    {"12.8", "12.6,12.9", NULL},
    {"wholly_own", "nvidia,amd", NULL},
    {"", "a", NULL},
    {"a", "", NULL},
};

START_TEST(meant)
{
    char text[256];
    const char *list[8];
    size_t n = 0;
    snprintf(text, sizeof(text), "%s", words[_i].offered);
    for (char *save = NULL, *word = strtok_r(text, ",", &save); word;
         word = strtok_r(NULL, ",", &save))
        list[n++] = word;
    const char *found = ocv_nearest(words[_i].wrong, list, n);
    ck_assert_msg(words[_i].meant ? found && !strcmp(found, words[_i].meant) : !found, "%s: %s",
                  words[_i].wrong, found ? found : "(none)");
}
END_TEST

/* The ways in which a word is misspelt most: a letter left out, doubled, or swapped with the next.
 */
static bool misspell(const char *word, size_t at, int how, char out[OCV_WORD_MAX])
{
    size_t len = strlen(word);
    snprintf(out, OCV_WORD_MAX, "%.*s%s", (int)at, word,
             word + at + (how == 0)); /* 1: doubled, by what comes next */
    if (how == 1) {
        memmove(out + at + 1, out + at, len - at + 1);
    } else if (how == 2) {
        if (at + 1 >= len || word[at] == word[at + 1])
            return false;
        out[at] = word[at + 1];
        out[at + 1] = word[at];
    }
    return strcmp(out, word) != 0;
}

static bool is_namespace(const char *text)
{
    for (size_t i = 0; i < COUNT(ocv_vocabulary_namespaces); i++)
        if (!strcmp(ocv_vocabulary_namespaces[i], text))
            return true;
    return false;
}

/* What is found is as near as the word itself; where no other is as near, it is the word. */
static void leads_back(const char *wrong, const char *word, const char *found, const char *of)
{
    ck_assert_msg(*found, "%s %s: nothing is found for %s", of, word, wrong);
    bool begun = !strncmp(found, wrong, strlen(wrong));
    ck_assert_msg(begun || ocv_nearest_distance(wrong, found, 3) <= 1, "%s %s: %s for %s", of, word,
                  found, wrong);
}

START_TEST(every_namespace_is_found_again)
{
    char wrong[OCV_WORD_MAX], found[OCV_WORD_MAX];
    size_t asked = 0;
    for (size_t i = 0; i < COUNT(ocv_vocabulary_namespaces); i++) {
        const char *word = ocv_vocabulary_namespaces[i];
        for (size_t at = 1; at < strlen(word); at++)
            for (int how = 0; how < 3; how++)
                if (misspell(word, at, how, wrong) && !is_namespace(wrong)) {
                    ck_assert_int_eq(ocv_vocabulary_check(wrong, NULL, NULL, found),
                                     OCV_WORD_NAMESPACE);
                    leads_back(wrong, word, found, "namespace");
                    asked++;
                }
    }
    ck_assert_uint_gt(asked, 200);
}
END_TEST

START_TEST(every_feature_is_found_again)
{
    char wrong[OCV_WORD_MAX], found[OCV_WORD_MAX];
    for (size_t i = 0; i < COUNT(ocv_vocabulary_features); i++) {
        const char *ns = ocv_vocabulary_features[i].ns, *word = ocv_vocabulary_features[i].name;
        ck_assert_int_eq(ocv_vocabulary_check(ns, word, NULL, NULL), OCV_WORD_KNOWN);
        for (size_t at = 1; at < strlen(word); at++)
            for (int how = 0; how < 3; how++)
                if (misspell(word, at, how, wrong) &&
                    ocv_vocabulary_check(ns, wrong, NULL, found) != OCV_WORD_KNOWN)
                    leads_back(wrong, word, found, ns);
    }
}
END_TEST

/* wrong value, meant */
static const struct {
    const char *ns, *feature, *wrong, *meant;
} values[] = {
    {"nvidia", "cuda_version_lower_bound", "128", "12.8"},
    {"nvidia", "cuda_version_lower_bound", "1210", ""},
    {"nvidia", "cuda_version_lower_bound", "12.8.1", "12.8"},
    {"nvidia", "cuda_version_lower_bound", "v12.8", "12.8"},
    {"nvidia", "sm_arch", "90", "90_real"},
    {"nvidia", "sm_arch", "sm_90", "90_real"},
    {"nvidia", "sm_arch", "9000", ""},
    {"nvidia", "sm_arch", "compute_90", "90_real"},
    {"nvidia", "sm_arch", "h100", "90_real"}, /* and not 100_real, which no H100 runs */
    {"nvidia", "sm_arch", "RTX_4090", "89_real"},
    {"nvidia", "sm_arch", "h300", ""},
    {"amd", "gfx_arch", "MI300X", "gfx942"},
    {"amd", "gfx_arch", "mi999", ""},
    {"habana", "arch", "gaudy3", "gaudi3"},
    {"x86_64", "level", "3", "v3"},
};

START_TEST(values_that_were_meant)
{
    char found[OCV_WORD_MAX];
    ck_assert_int_eq(
        ocv_vocabulary_check(values[_i].ns, values[_i].feature, values[_i].wrong, found),
        OCV_WORD_VALUE);
    ck_assert_str_eq(found, values[_i].meant);
}
END_TEST

/* What a product is said to be is a value. */
START_TEST(names_of_products)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof(ocv_vocabulary_features) / sizeof(*ocv_vocabulary_features);
         i++) {
        const struct ocv_vocabulary_feature *f = &ocv_vocabulary_features[i];
        for (const char *at = f->names; at && *at; n++) {
            char name[OCV_WORD_MAX], value[OCV_WORD_MAX], found[OCV_WORD_MAX];
            ck_assert_int_eq(sscanf(at, "%63[^=]=%63[^,]", name, value), 2);
            ck_assert_int_eq(ocv_vocabulary_check(f->ns, f->name, value, found), OCV_WORD_KNOWN);
            ck_assert_int_eq(ocv_vocabulary_check(f->ns, f->name, name, found), OCV_WORD_VALUE);
            ck_assert_str_eq(found, value);
            at += strcspn(at, ",");
            at += *at == ',';
        }
    }
    ck_assert_uint_ge(n, 20);
}
END_TEST

/* No number of three or four digits is ever taken for a lower one. */
START_TEST(no_version_is_loosened)
{
    char wrong[8], found[OCV_WORD_MAX];
    for (unsigned n = 100; n < 2000; n++) {
        snprintf(wrong, sizeof(wrong), "%u", n);
        if (ocv_vocabulary_check("nvidia", "cuda_version_lower_bound", wrong, found) ==
                OCV_WORD_KNOWN ||
            !*found)
            continue;
        size_t digits = 0;
        for (const char *c = found; *c; c++)
            digits += *c != '.';
        ck_assert_msg(digits >= strlen(wrong), "%s became %s", wrong, found);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("nearest");
    TCase *tcase = tcase_create("nearest");
    tcase_add_test(tcase, distances);
    tcase_add_loop_test(tcase, meant, 0, (int)COUNT(words));
    tcase_add_test(tcase, every_namespace_is_found_again);
    tcase_add_test(tcase, every_feature_is_found_again);
    tcase_add_loop_test(tcase, values_that_were_meant, 0, (int)COUNT(values));
    tcase_add_test(tcase, names_of_products);
    tcase_add_test(tcase, no_version_is_loosened);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
