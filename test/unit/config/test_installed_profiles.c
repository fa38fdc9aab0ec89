/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/profiles: what they say has words of the vocabulary, and is what a machine reports. */
#include "lib/base/file.h"
#include "lib/core/core_internal.h"
#include "ocivariant/vocabulary.h"
#include "test/unit/config/config_util.h"
#include "test/unit/core_util.h"

#include <glob.h>

static glob_t files;

static void find_files(void)
{
    ck_assert_int_eq(glob("plugins/profiles/*.json", 0, NULL, &files), 0);
    ck_assert_uint_ge(files.gl_pathc, 16);
}

static struct ocv_profile *read_profile(const char *path)
{
    ocv_auto_buffer text;
    struct ocv_profile *profile = NULL;
    struct ocv_error err = {0};
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    ck_assert_int_eq(ocv_file_read(path, OCV_FILE_REGULAR, &text, NULL), OCV_OK);
    ck_assert_msg(ocv_profile_parse(text.data, text.len, &profile, &err) == OCV_OK, "%s: %s", path,
                  err.message);
    return profile;
}

START_TEST(words_of_the_vocabulary)
{
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ocv_auto(ocv_profile) profile = read_profile(files.gl_pathv[i]);
        size_t n = 0;
        for (size_t k = 0; k < profile->n_namespaces; k++) {
            const struct ocv_namespace *ns = &profile->namespaces[k];
            for (size_t f = 0; f < ns->n_features; f++)
                for (size_t v = 0; v < ns->features[f].n_values; v++, n++)
                    ck_assert_msg(ocv_vocabulary_check(ns->name, ns->features[f].name,
                                                       ns->features[f].values[v],
                                                       NULL) == OCV_WORD_KNOWN,
                                  "%s: %s :: %s :: %s", files.gl_pathv[i], ns->name,
                                  ns->features[f].name, ns->features[f].values[v]);
        }
        ck_assert_uint_ge(n, 2);
    }
}
END_TEST

/* The newest version by itself stands for what the machine reports, by an override, too. */
START_TEST(bounds_go_down_as_machines_report_them)
{
    size_t n = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ocv_auto(ocv_profile) own = read_profile(files.gl_pathv[i]);
        for (size_t k = 0; k < own->n_namespaces; k++) {
            const struct ocv_namespace *ns = &own->namespaces[k];
            for (size_t f = 0; f < ns->n_features; f++) {
                char text[160];
                const struct ocv_feature *is = &ns->features[f];
                const char *end = strstr(is->name, "_lower_bound");
                if (!end || strcmp(end, "_lower_bound") != 0)
                    continue;
                ocv_auto(ocv_config) config = NULL;
                ocv_auto(ocv_profile) other = NULL;
                ck_assert_int_eq(ocv_config_new(&config, NULL), OCV_OK);
                snprintf(text, sizeof(text), "%s::%s=%s", ns->name, is->name, is->values[0]);
                ck_assert_int_eq(ocv_config_set(config, "test", "override", text, false, NULL),
                                 OCV_OK);
                ck_assert_int_eq(ocv_config_override_profile(config, own, &other, NULL), OCV_OK);
                const struct ocv_feature *got =
                    &ocv_profile_namespace(other, ns->name)->features[f];
                ck_assert_msg(got->n_values == is->n_values, "%s: %s: %zu, not %zu",
                              files.gl_pathv[i], is->name, got->n_values, is->n_values);
                for (size_t v = 0; v < is->n_values; v++)
                    ck_assert_str_eq(got->values[v], is->values[v]);
                n++;
            }
        }
    }
    ck_assert_uint_ge(n, 8);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("installed profiles");
    TCase *tcase = tcase_create("installed profiles");
    tcase_add_unchecked_fixture(tcase, find_files, NULL);
    tcase_add_test(tcase, words_of_the_vocabulary);
    tcase_add_test(tcase, bounds_go_down_as_machines_report_them);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
