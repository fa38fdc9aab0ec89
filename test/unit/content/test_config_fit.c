/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/content/config_fit.c: conditions of images as NVIDIA and others publish them, on
 * hosts of all kinds. */
#include "lib/internal/content/image_config.h"
#include "test/unit/core_util.h"
#include "test/unit/suite.h"

/* As NVIDIA's images of 12.4 and of 13.0 have them, with fewer brands. */
#define CUDA_12_4                                                                   \
    "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 "            \
    "brand=geforce,driver>=470,driver<471 brand=geforcertx,driver>=470,driver<471 " \
    "brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536"
#define CUDA_13_0                                                          \
    "NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=unknown,driver>=535,driver<536 " \
    "brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536"
#define RTX "NVIDIA GeForce RTX 4090"
#define H100 "NVIDIA H100 80GB HBM3"

static const struct {
    const char *variables, *driver, *cuda, *gpu, *arch;
    enum ocv_config_fit fit;
    const char *reason;
} cases[] = {
    {"", "535.161.08", "12.2", H100, "90_real", OCV_CONFIG_NO_WORD, ""},
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.2", "535.161.08", "12.2", RTX, "89_real", OCV_CONFIG_FITS, ""},
    /* a newer major, and no compatibility libraries for it */
    {"NVIDIA_REQUIRE_CUDA=cuda>=13.0", "535.161", "12.2", H100, "90_real", OCV_CONFIG_MISFIT,
     "this image is built for CUDA 13.0; driver 535.161 runs 12: driver 580 or newer"},
    {CUDA_13_0, "550.54.14", "12.4", H100, "90_real", OCV_CONFIG_MISFIT,
     "this image is built for CUDA 13.0; driver 550.54.14 runs 12: driver 580 or newer"},
    {CUDA_13_0, "535.161.08", "12.2", RTX, "89_real", OCV_CONFIG_MISFIT,
     "this image is built for CUDA 13.0; driver 535.161.08 runs 12: driver 580 or newer"},
    /* they are inside, for this branch and brand */
    {CUDA_13_0, "535.161.08", "12.2", H100, "90_real", OCV_CONFIG_FITS, ""},
    {CUDA_12_4, "535.161.08", "12.2", "Tesla V100", "70_real", OCV_CONFIG_FITS, ""},
    /* within the major: machine code runs */
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.8", "535.161.08", "12.2", H100, "90_real", OCV_CONFIG_WARNING,
     "this image is built for CUDA 12.8; driver 535.161.08 has 12.2, and runs it by CUDA "
     "minor-version compatibility, without what is newer; not code that is compressed with zstd, "
     "which drivers read from CUDA 12.4 on"},
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.8", "550.54.14", "12.4", H100, "90_real", OCV_CONFIG_WARNING,
     "this image is built for CUDA 12.8; driver 550.54.14 has 12.4, and runs it by CUDA "
     "minor-version compatibility, without what is newer"},
    {CUDA_12_4, "535.161.08", "12.2", RTX, "89_real", OCV_CONFIG_WARNING,
     "this image is built for CUDA 12.4; driver 535.161.08 has 12.2, and runs it by CUDA "
     "minor-version compatibility, without what is newer; the compatibility libraries in it are "
     "not for " RTX ", and fail there (error 804)"},
    /* lists up to 12.4 name GeForces, which have no such libraries */
    {CUDA_12_4, "470.82.01", "11.4", RTX, "89_real", OCV_CONFIG_WARNING,
     "this image is built for CUDA 12.4, newer than driver 470.82.01; the compatibility libraries "
     "in it are not for " RTX ", and fail there (error 804)"},
    {CUDA_12_4, "470.82.01", "11.4", "Quadro P400", "61_real", OCV_CONFIG_MISFIT,
     "this image is built for CUDA 12.4; driver 470.82.01 runs 11: driver 525 or newer"},
    /* an excluded compute capability */
    {"NVIDIA_REQUIRE_ARCH=arch>=7.5", "580.65.06", "13.0", "NVIDIA GeForce GTX 1080", "61_real",
     OCV_CONFIG_MISFIT,
     "this image is not for compute capability 6.1 (NVIDIA GeForce GTX 1080): "
     "NVIDIA_REQUIRE_ARCH=arch>=7.5"},
    {"NVIDIA_REQUIRE_ARCH=arch>=7.5", "580.65.06", "13.0", H100, "100a_real", OCV_CONFIG_FITS, ""},
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.0,arch>=7.5 cuda>=13.0", "535.161", "12.2", "Tesla P40",
     "61_real", OCV_CONFIG_MISFIT, NULL},
    /* several variables must all hold, and the worst counts */
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.8','NVIDIA_REQUIRE_ARCH=arch>=9.0", "535.161", "12.2",
     "NVIDIA A100", "80_real", OCV_CONFIG_MISFIT, NULL},
    {"NVIDIA_REQUIRE_CUDA=cuda>=12.0','NVIDIA_REQUIRE_X=cuda>=12.8", "535.161", "12.2", H100,
     "90_real", OCV_CONFIG_WARNING, NULL},
    /* another condition is a warning */
    {"NVIDIA_REQUIRE_DRIVER=driver>=550", "535.161", "12.2", H100, "90_real", OCV_CONFIG_WARNING,
     H100 " does not meet NVIDIA_REQUIRE_DRIVER=driver>=550"},
    {"NVIDIA_REQUIRE_DRIVER=driver>=535.161", "535.161.08", "12.2", H100, "90_real",
     OCV_CONFIG_FITS, ""},
    {"NVIDIA_REQUIRE_DRIVER=driver>=535.162", "535.161.08", "12.2", H100, "90_real",
     OCV_CONFIG_WARNING, NULL},
    {"NVIDIA_REQUIRE_X=brand!=nvidia", "535.161", "12.2", H100, "90_real", OCV_CONFIG_WARNING,
     NULL},
    {"NVIDIA_REQUIRE_CUDA=cuda>>12", "535.161", "12.2", H100, "90_real", OCV_CONFIG_WARNING, NULL},
    /* switched off */
    {"NVIDIA_REQUIRE_CUDA=cuda>=13.0','NVIDIA_DISABLE_REQUIRE=1", "535.161", "12.2", H100,
     "90_real", OCV_CONFIG_NO_WORD, ""},
    {"NVIDIA_REQUIRE_CUDA=cuda>=13.0','NVIDIA_DISABLE_REQUIRE=true", "535.161", "12.2", H100,
     "90_real", OCV_CONFIG_NO_WORD, ""},
    {"NVIDIA_REQUIRE_CUDA=cuda>=13.0','NVIDIA_DISABLE_REQUIRE=false", "535.161", "12.2", H100,
     "90_real", OCV_CONFIG_MISFIT, NULL},
};

static struct ocv_profile *host(const char *driver, const char *cuda, const char *devices)
{
    char *text =
        quoted("{'schema':'dev.ocivariant.profile/v1','namespaces':[{'namespace':'nvidia',"
               "'driver':'%s','features':[{'name':'cuda_version_lower_bound','values':['%s'"
               "]}],'devices':[%s]}]}",
               driver, cuda, devices);
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    return profile;
}

static void check(const char *variables, const struct ocv_profile *profile, const char *devices,
                  struct ocv_config_finding *out)
{
    struct ocv_gpu_host gpus;
    ocv_auto(ocv_image_config) config = NULL;
    char *json = quoted("{'config':{'Env':['PATH=/bin'%s%s%s]}}", *variables ? ",'" : "", variables,
                        *variables ? "'" : "");
    ck_assert_int_eq(ocv_image_config_parse(json, strlen(json), &config, NULL), OCV_OK);
    free(json);
    ocv_gpu_host_read(profile, devices, &gpus);
    ck_assert_int_eq(ocv_config_check(config, &gpus, out, NULL), OCV_OK);
}

#define DEVICE                                                                                     \
    "{'id':'0000:0%d:00.0','index':%d,'uuid':'GPU-%d','name':'%s','features':[{'name':'sm_arch','" \
    "values':['%s']}]}"

START_TEST(test_cases)
{
    char device[512];
    struct ocv_config_finding verdict;
    snprintf(device, sizeof(device), DEVICE, 1, 0, 0, cases[_i].gpu, cases[_i].arch);
    ocv_auto(ocv_profile) profile = host(cases[_i].driver, cases[_i].cuda, device);
    check(cases[_i].variables, profile, NULL, &verdict);
    ck_assert_msg(verdict.fit == cases[_i].fit, "%s: %s", ocv_config_fit_name(verdict.fit),
                  verdict.reason);
    if (cases[_i].reason)
        ck_assert_str_eq(verdict.reason, cases[_i].reason);
    else
        ck_assert_str_ne(verdict.reason, "");
}
END_TEST

/* Only the GPUs that a container is given are checked. */
START_TEST(test_devices)
{
    static const struct {
        const char *devices;
        enum ocv_config_fit fit;
    } lists[] = {{NULL, OCV_CONFIG_MISFIT},    {"all", OCV_CONFIG_MISFIT},
                 {"0", OCV_CONFIG_FITS},       {"1", OCV_CONFIG_MISFIT},
                 {"0,1", OCV_CONFIG_MISFIT},   {"GPU-0", OCV_CONFIG_FITS},
                 {"GPU-1", OCV_CONFIG_MISFIT}, {"0:0", OCV_CONFIG_FITS},
                 {"x=y", OCV_CONFIG_MISFIT},   {"7", OCV_CONFIG_NO_WORD}};
    char devices[1024], one[512], more[512];
    snprintf(one, sizeof(one), DEVICE, 1, 0, 0, H100, "90_real");
    snprintf(more, sizeof(more), DEVICE, 2, 1, 1, "Tesla P40", "61_real");
    snprintf(devices, sizeof(devices), "%s,%s", one, more);
    ocv_auto(ocv_profile) profile = host("580.65.06", "13.0", devices);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct ocv_config_finding verdict;
        check("NVIDIA_REQUIRE_ARCH=arch>=7.5", profile, lists[i].devices, &verdict);
        ck_assert_msg(verdict.fit == lists[i].fit, "%s: %s",
                      lists[i].devices ? lists[i].devices : "", ocv_config_fit_name(verdict.fit));
    }
    /* hosts without such devices, or without a working driver for them, have no such value */
    ocv_auto(ocv_profile) empty = parse_profile("{\"namespaces\":[]}");
    struct ocv_config_finding verdict;
    check("NVIDIA_REQUIRE_CUDA=cuda>=13.0", empty, NULL, &verdict);
    ck_assert_int_eq(verdict.fit, OCV_CONFIG_NO_WORD);
}
END_TEST

START_TEST(test_brands)
{
    static const char *const names[][2] = {{RTX, "geforcertx"},
                                           {"NVIDIA GeForce GTX 1080", "geforce"},
                                           {"NVIDIA TITAN V", "titan"},
                                           {"TITAN RTX", "titanrtx"},
                                           {"Quadro RTX 6000", "quadrortx"},
                                           {"Quadro P400", "quadro"},
                                           {"Tesla T4", "tesla"},
                                           {"NVIDIA RTX A6000", "nvidiartx"},
                                           {H100, "nvidia"},
                                           {"GRID V100D-8Q", "grid"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        ck_assert_str_eq(ocv_gpu_brand(names[i][0]), names[i][1]);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("config fit");
    TCase *tc = tcase_create("config fit");
    tcase_add_loop_test(tc, test_cases, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tc, test_devices);
    tcase_add_test(tc, test_brands);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
