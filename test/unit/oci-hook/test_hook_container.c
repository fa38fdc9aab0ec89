/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/oci-hook/container.c: which containers get an NVIDIA device, and what is asked about
 * them. */
#include "lib/internal/content/image_config.h"
#include "plugins/oci-hook/hook.h"
#include "test/unit/core_util.h"
#include "test/unit/suite.h"

#define REQUIRE "'NVIDIA_REQUIRE_CUDA=cuda>=12.8'"
#define ENV(more) "'process':{'env':['PATH=/bin'," REQUIRE more "]}"
#define HOOK(stage, path) "'hooks':{'" stage "':[{'path':'" path "'}]}"

static const struct {
    const char *config;
    bool gets;
    const char *devices; /* NULL: all */
} cases[] = {
    {ENV(""), false, NULL},
    /* inherited by FROM: nobody acts on it */
    {ENV(",'NVIDIA_VISIBLE_DEVICES=all'"), false, NULL},
    {ENV(",'NVIDIA_VISIBLE_DEVICES=all'") "," HOOK("prestart", "/usr/bin/other"), false, NULL},
    {ENV(",'NVIDIA_VISIBLE_DEVICES=all'") "," HOOK("prestart",
                                                   "/usr/bin/nvidia-container-runtime-hook"),
     true, "all"},
    {ENV(",'NVIDIA_VISIBLE_DEVICES=0,2'") "," HOOK("createContainer", "/usr/bin/nvidia-cdi-hook"),
     true, "0,2"},
    {ENV(",'NVIDIA_VISIBLE_DEVICES=void'") "," HOOK("prestart",
                                                    "/usr/bin/nvidia-container-toolkit"),
     false, NULL},
    {ENV(",'NVIDIA_VISIBLE_DEVICES='") "," HOOK("prestart", "/usr/bin/nvidia-container-toolkit"),
     false, NULL},
    {ENV("") "," HOOK("prestart", "/usr/bin/nvidia-container-toolkit"), false, NULL},
    {ENV("") ",'linux':{'devices':[{'path':'/dev/fuse'},{'path':'/dev/nvidia0'}]}", true, NULL},
    {ENV("") ",'linux':{'devices':[{'path':'/dev/nvidiactl'}]}", false, NULL},
    {ENV("") ",'mounts':[{'destination':'/dev/nvidia3'}]", true, NULL},
    {ENV("") ",'annotations':{'cdi.k8s.io/x':'nvidia.com/gpu=0,nvidia.com/gpu=GPU-1'}", true,
     "0,GPU-1"},
    {ENV("") ",'annotations':{'cdi.k8s.io/x':'vendor.example/nic=0'}", false, NULL},
    {ENV("") ",'annotations':{'other':'nvidia.com/gpu=0'}", false, NULL},
    {"'process':5,'hooks':[],'linux':{'devices':{}},'mounts':'x','annotations':[]", false, NULL},
};

START_TEST(test_cases)
{
    char *text = quoted("{%s}", cases[_i].config);
    json_t *config = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(config);
    ck_assert_int_eq(container_gets_gpu(config), cases[_i].gets);
    char *essence = container_config(config), *devices = container_devices(config);
    ck_assert_int_eq(essence != NULL, cases[_i].gets);
    if (essence) {
        ocv_auto(ocv_image_config) again = NULL;
        ck_assert_ptr_null(strstr(essence, "PATH"));
        ck_assert_int_eq(ocv_image_config_parse(essence, strlen(essence), &again, NULL), OCV_OK);
        ck_assert_str_eq(ocv_image_config_variable(again, "NVIDIA_REQUIRE_CUDA"), "cuda>=12.8");
        ck_assert_str_eq(devices ? devices : "", cases[_i].devices ? cases[_i].devices : "");
    }
    free(essence);
    free(devices);
    json_decref(config);
    free(text);
}
END_TEST

/* Without conditions there is nothing to ask. */
START_TEST(test_no_conditions)
{
    char *text = quoted(
        "{'process':{'env':['CUDA_VERSION=12.8']},'linux':{'devices':[{'path':'/dev/nvidia0'}]}}");
    json_t *config = json_loads(text, 0, NULL);
    ck_assert(container_gets_gpu(config));
    ck_assert_ptr_null(container_config(config));
    ck_assert(!container_gets_gpu(NULL));
    ck_assert_ptr_null(container_config(NULL));
    json_decref(config);
    free(text);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("hook container");
    TCase *tc = tcase_create("hook container");
    tcase_add_loop_test(tc, test_cases, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tc, test_no_conditions);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
