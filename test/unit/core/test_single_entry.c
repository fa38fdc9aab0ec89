/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* lib/core/resolve/single_entry.c: a variant's own properties against a host. */
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <string.h>

static const char profile_text[] =
    "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\",\"architecture\":"
    "\"amd64\"},\"namespaces\":[{\"namespace\":\"nvidia\",\"features\":[{\"name\":"
    "\"cuda_version_lower_bound\",\"values\":[\"12.4\",\"12.3\",\"12.0\"]}]}]}";

static const struct {
    const char *label, *properties, *statics;
    int status;
    bool fits;
    const char *reason;
} cases[] = {
    {"cuda", "nvidia :: cuda_version_lower_bound :: 12.4", NULL, OCV_OK, true, NULL},
    {"cuda", "nvidia::cuda_version_lower_bound::12.3", NULL, OCV_OK, true, NULL},
    {"cuda", "nvidia :: cuda_version_lower_bound :: 12.8", NULL, OCV_OK, false, "12.8"},
    {"cuda",
     "nvidia :: cuda_version_lower_bound :: 12.0, nvidia :: cuda_version_lower_bound :: 12.8", NULL,
     OCV_OK, true, "built with 12.8, this driver has 12.4; driver 570 or newer"},
    {"null", "", NULL, OCV_OK, true, NULL},
    {NULL, "", NULL, OCV_OK, true, NULL},
    {"cuda", "nvidia :: cuda_version_lower_bound :: 12.3, priority :: order :: 1", NULL, OCV_OK,
     false, "priority"},
    {"cuda", "nvidia :: cuda_version_lower_bound :: 12.3, priority :: order :: 1", "priority",
     OCV_OK, true, NULL},
    {"cuda", "priority :: order :: 1", "other, priority", OCV_OK, true, NULL},
    {"cuda", "nonsense", NULL, OCV_ERR_DATA, false, NULL},
    {"no label!", "nvidia :: cuda_version_lower_bound :: 12.3", NULL, OCV_ERR_DATA, false, NULL},
};

START_TEST(test_fits)
{
    ocv_auto(ocv_profile) profile = NULL;
    const struct ocv_resolve_options options = {0};
    ocv_auto_buffer reason;
    bool fits = false;
    struct ocv_error err = {0};
    ocv_buffer_init(&reason, 4096);
    ck_assert_int_eq(ocv_profile_parse(profile_text, strlen(profile_text), &profile, &err), OCV_OK);
    int status = ocv_fit_check(cases[_i].label, cases[_i].properties, cases[_i].statics, profile,
                               &options, &fits, &reason, &err);
    ck_assert_msg(status == cases[_i].status, "%d %s", status, err.message);
    if (status < 0)
        return;
    ck_assert_int_eq(fits, cases[_i].fits);
    ck_assert((reason.len == 0) == (cases[_i].reason == NULL));
    if (reason.len)
        ck_assert_msg(strstr(reason.data, cases[_i].reason) != NULL, "%s", reason.data);
}
END_TEST

/* What is asked for by its label; the default has none, an empty one or "null". */
static const struct {
    const char *label, *wanted;
    bool fits;
} wishes[] = {{"cuda", "cuda", true}, {"cuda", "rocm", false}, {"cuda", "null", false},
              {"null", "null", true}, {NULL, "null", true},    {"", "null", true},
              {NULL, "cuda", false},  {"", "cuda", false}};

START_TEST(test_wanted)
{
    ocv_auto(ocv_profile) profile = NULL;
    const struct ocv_resolve_options options = {.label = wishes[_i].wanted};
    const char *properties = wishes[_i].label && !strcmp(wishes[_i].label, "cuda")
                                 ? "nvidia :: cuda_version_lower_bound :: 12.4"
                                 : "";
    ocv_auto_buffer reason;
    bool fits = !wishes[_i].fits;
    struct ocv_error err = {0};
    ocv_buffer_init(&reason, 4096);
    ck_assert_int_eq(ocv_profile_parse(profile_text, strlen(profile_text), &profile, &err), OCV_OK);
    ck_assert_int_eq(
        ocv_fit_check(wishes[_i].label, properties, NULL, profile, &options, &fits, &reason, &err),
        OCV_OK);
    ck_assert_int_eq(fits, wishes[_i].fits);
    ck_assert_str_eq(reason.data ? reason.data : "",
                     fits ? "" : "fits, but another label was asked for");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("single entry");
    TCase *tcase = tcase_create("single entry");
    tcase_add_loop_test(tcase, test_fits, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_loop_test(tcase, test_wanted, 0, sizeof(wishes) / sizeof(*wishes));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
