/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `variantctl verify` says of a lesser image, by an index that the node has kept. */
#include "cmd/variantctl/verify/verify_verb.h"

#include "test/unit/core_util.h"

#include <unistd.h>

#define CUDA(version) "nvidia :: cuda_version_lower_bound :: " version

static char directory[64];

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/ocv-known-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

/* The reason is one, whatever was to be said of the image before. */
START_TEST(test_lesser)
{
    struct ocv_error err = {0};
    ocv_auto_buffer reason;
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'amd64'},'namespaces':[{'namespace':'nvidia','features':[{"
                        "'name':'cuda_version_lower_bound','values':['12.8','12.0']}]}]}");
    ocv_auto(ocv_profile) profile = parse_profile(text);
    json_t *json = index_json("nvidia");
    add_entry(json, "linux/amd64/x-a", "a", CUDA("12.0") ", " CUDA("12.9"));
    add_entry(json, "linux/amd64/x-b", "b", CUDA("12.8"));
    ocv_auto(ocv_index) index = index_from(json);
    const struct ocv_record where = {.repository = "r.example/app"};
    ck_assert_msg(ocv_record_chosen(directory, index, NULL, &where, &err) == OCV_OK, "%s",
                  err.message);
    struct known_image known = {.digest = ocv_index_entry(index, 0)->digest,
                                .repository = "r.example/app"};
    const struct ocv_fit_host host = {.profile = profile, .records = directory};
    ocv_buffer_init(&reason, 4096);
    ck_assert_int_eq(ocv_buffer_printf(&reason, &err, "runs by compatibility"), OCV_OK);
    ck_assert_int_eq(known_best(&host, &known, NULL, &reason), OCV_VERDICT_LESSER);
    ck_assert_str_eq(reason.data, "b fits it better");
    known.digest = ocv_index_entry(index, 1)->digest;
    ck_assert_int_eq(known_best(&host, &known, NULL, &reason), OCV_VERDICT_OPEN);
    ck_assert_str_eq(reason.data, "b fits it better");
    ocv_auto(ocv_profile) none = parse_profile("{\"platform\":{\"os\":\"linux\",\"architecture\":"
                                               "\"amd64\"},\"namespaces\":[]}");
    const struct ocv_fit_host bare = {.profile = none, .records = directory};
    ck_assert_int_eq(known_best(&bare, &known, NULL, NULL), OCV_VERDICT_MISFIT);
    free(text);
}
END_TEST

RUN_TESTS_IN("verify known", make_directory, remove_directory, test_lesser)
