/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The devices of a workload, by whichever names an orchestrator has for them. */
#include "lib/core/core_internal.h"
#include "test/unit/core_util.h"

#define A "0000:3b:00.0"
#define B "0000:af:00.0"
#define C "0000:c1:00.0"

/* OWNER|ID of each, those of one device joined by "+". */
static const struct {
    const char *given[3];
    const char *found; /* NULL: none */
} cases[] = {
    {{"nvidia.com/gpu|GPU-bbbb"}, "nvidia=" B},
    {{"nvidia.com/gpu|1", "nvidia.com/gpu|0"}, "nvidia=" A "," B}, /* as the profile has them */
    {{"nvidia.com/gpu|1", "nvidia.com/gpu|GPU-bbbb"}, "nvidia=" B},
    {{"amd.com/gpu|0"}, "amd=" C},
    {{"amd.com/mi300x|mi300x-0"}, "amd=" C}, /* behind the name of its class, which has a digit */
    {{"amd.com/gpu|0", "nvidia.com/gpu|0"}, "nvidia=" A ";amd=" C},
    {{"nvidia.com/gpu|all"}, "nvidia=" A "," B},
    {{"|nvidia.com/gpu=1"}, "nvidia=" B},
    {{"|nvidia.com/gpu=all"}, "nvidia=" A "," B},
    {{"gpu.nvidia.com|gpu-1"}, "nvidia=" B},
    /* of a claim, whose UID stands before it; and what only looks like one */
    {{"gpu.nvidia.com|01234567-89ab-cdef-0123-456789abcdef-gpu-1"}, "nvidia=" B},
    {{"gpu.nvidia.com|01234567x89ab-cdef-0123-456789abcdef-gpu-1"}, NULL},
    {{"gpu.nvidia.com|01234567-89abxcdef-0123-456789abcdef-gpu-1"}, NULL},
    {{"gpu.nvidia.com|01234567-89ab-cdef-0123-456789abcdefxgpu-1"}, NULL},
    {{"nvidia.com/gpu|GPU-aaaa::3"}, "nvidia=" A}, /* shared */
    {{"|" C}, "amd=" C},
    {{"nvidia.com/gpu|1+nvidia.com/gpu|GPU-bbbb"}, "nvidia=" B},
    {{"nvidia.com/gpu|0+nvidia.com/gpu|GPU-bbbb"}, NULL},
    {{"nvidia.com/gpu|GPU-cccc"}, NULL},
    {{"nvidia.com/gpu|GPU-aaaa", "nvidia.com/gpu|GPU-cccc"}, NULL},
    {{"nvidia.com/gpu|GPU-aaaa", "example.com/nic|3"}, "nvidia=" A}, /* no device of ours */
    {{"example.com/nic|3"}, NULL},
    {{"|0"}, NULL}, /* whose? */
    {{"nvidia.com/gpu|gpu-0-mig-1g.5gb-19-0"}, NULL},
    {{"nvidia.com/gpu|000001"}, NULL},
    {{"example.com/nic|000001"}, NULL}, /* a number is its owner's, however long it is */
    {{NULL}, ""},
};

static struct ocv_given_devices given_of(const char *const texts[3])
{
    struct ocv_given_devices given = {0};
    for (size_t i = 0; i < 3 && texts[i]; i++) {
        char text[256], *save = NULL;
        size_t group = given.n;
        snprintf(text, sizeof(text), "%s", texts[i]);
        for (char *one = strtok_r(text, "+", &save); one; one = strtok_r(NULL, "+", &save)) {
            struct ocv_given_device *device = &given.list[given.n++];
            device->group = group;
            snprintf(device->owner, sizeof(device->owner), "%.*s", (int)strcspn(one, "|"), one);
            snprintf(device->id, sizeof(device->id), "%s", strchr(one, '|') + 1);
        }
    }
    return given;
}

static struct ocv_profile *two_kinds(void)
{
    char *text = quoted("{'namespaces':[{'namespace':'nvidia','devices':["
                        "{'id':'" A "','index':0,'uuid':'GPU-aaaa'},"
                        "{'id':'" B "','index':1,'uuid':'GPU-bbbb'}]},"
                        "{'namespace':'amd','devices':[{'id':'" C "','index':0}]}]}");
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    return profile;
}

START_TEST(test_names)
{
    char out[OCV_GIVEN_FOUND_MAX];
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) profile = two_kinds();
    struct ocv_given_devices given = given_of(cases[_i].given);
    int status = ocv_given_find(&given, profile, out, sizeof(out), &err);
    ck_assert_int_eq(status, cases[_i].found ? OCV_OK : OCV_ERR_NOT_FOUND);
    if (cases[_i].found)
        ck_assert_str_eq(out, cases[_i].found);
}
END_TEST

START_TEST(test_room)
{
    static const char *const texts[3] = {"nvidia.com/gpu|all"};
    char out[sizeof("nvidia=" A "," B) + 4];
    ocv_auto(ocv_profile) profile = two_kinds();
    struct ocv_given_devices given = given_of(texts);
    ck_assert_int_eq(ocv_given_find(&given, profile, out, sizeof(out) - 16, NULL), OCV_ERR_DATA);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("given devices");
    TCase *tcase = tcase_create("given devices");
    tcase_add_loop_test(tcase, test_names, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_test(tcase, test_room);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
