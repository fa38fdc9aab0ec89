/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/content/image_config.c: what configurations say, as published images write it. */
#include "lib/internal/content/image_config.h"
#include "test/unit/core_util.h"
#include "test/unit/suite.h"

static struct ocv_image_config *parse(const char *text)
{
    struct ocv_image_config *config = NULL;
    struct ocv_error err = {0};
    char *json = quoted("%s", text);
    ck_assert_msg(ocv_image_config_parse(json, strlen(json), &config, &err) == OCV_OK, "%s",
                  err.message);
    free(json);
    return config;
}

/* "cuda 12.8 CUDA_VERSION, ..." */
static void format_versions(const struct ocv_image_config *config, char *out, size_t size)
{
    struct ocv_image_version version;
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; ocv_image_config_version(config, i, &version); i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s %s %s", i ? ", " : "", version.of,
                              version.version, version.source);
}

static const struct {
    const char *environment, *labels, *versions;
} cases[] = {
    {"", "", ""},
    {"'PATH=/bin','CUDA_VERSION=12.8.1'", "", "cuda 12.8 CUDA_VERSION"},
    {"'CUDA_VERSION=13.0.1.012'", "", "cuda 13.0 CUDA_VERSION"},
    {"'NV_CUDA_CUDART_VERSION=12.6.77-1','NV_CUDA_LIB_VERSION=12.6.3-1'", "",
     "cuda 12.6 NV_CUDA_CUDART_VERSION, cuda 12.6 NV_CUDA_LIB_VERSION"},
    {"'NV_CUDA_NVRTC_VERSION=12.8.93-1'", "", "cuda 12.8 NV_CUDA_NVRTC_VERSION"},
    {"'ROCM_VERSION=6.4.1'", "", "rocm 6.4 ROCM_VERSION"},
    {"'CANN_VERSION=8.2.0'", "", "cann 8.2 CANN_VERSION"},
    {"", "'com.nvidia.cuda.version':'8.0.61'", "cuda 8.0 com.nvidia.cuda.version"},
    {"'NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=535,driver<536'", "",
     "cuda 12.4 NVIDIA_REQUIRE_CUDA"},
    /* an alternative that asks for no version leaves it open */
    {"'NVIDIA_REQUIRE_CUDA=cuda>=12.4 driver>=470'", "", ""},
    {"'NVIDIA_REQUIRE_CUDA=not a condition'", "", ""},
    /* a runtime takes the last of two */
    {"'CUDA_VERSION=11.8','CUDA_VERSION=12.1'", "", "cuda 12.1 CUDA_VERSION"},
    /* no versions with a minor number */
    {"'CUDA_VERSION=12','ROCM_VERSION='", "", ""},
    {"'CUDA_VERSION=${VERSION}','ROCM_VERSION=6.x'", "", ""},
    {"'CUDA_VERSION=12.8beta','ROCM_VERSION=1234.5'", "", ""},
    {"'CUDA_VERSION','MY_CUDA_VERSION=12.8'", "", ""},
    {"1,null,'CUDA_VERSION=12.8'", "", "cuda 12.8 CUDA_VERSION"},
};

START_TEST(test_versions)
{
    char text[2048], out[512];
    snprintf(text, sizeof(text),
             "{'architecture':'amd64','os':'linux','config':{'Env':[%s],'Labels':{%s}}}",
             cases[_i].environment, cases[_i].labels);
    ocv_auto(ocv_image_config) config = parse(text);
    format_versions(config, out, sizeof(out));
    ck_assert_str_eq(out, cases[_i].versions);
    /* what is kept says the same */
    ocv_auto(ocv_image_config) again = NULL;
    ocv_auto_buffer essence;
    ocv_buffer_init(&essence, OCV_IMAGE_CONFIG_MAX);
    ck_assert_int_eq(ocv_image_config_essence(config, &essence, NULL), OCV_OK);
    ck_assert_ptr_null(strstr(essence.data, "PATH"));
    ck_assert_int_eq(ocv_image_config_parse(essence.data, essence.len, &again, NULL), OCV_OK);
    format_versions(again, out, sizeof(out));
    ck_assert_str_eq(out, cases[_i].versions);
    ck_assert(ocv_image_config_platform(again, out, sizeof(out)));
    ck_assert_str_eq(out, "linux/amd64");
}
END_TEST

START_TEST(test_rest)
{
    const char *variable;
    char platform[64];
    struct ocv_image_version version;
    ocv_auto(ocv_image_config) config =
        parse("{'architecture':'arm64','variant':'v8','config':{'Env':['HABANA_LOGS=/var/log',"
              "'CUDA_VERSION=x','NVIDIA_REQUIRE_CUDA=cuda>=12.4']}}");
    ck_assert(ocv_image_config_platform(config, platform, sizeof(platform)));
    ck_assert_str_eq(platform, "linux/arm64/v8");
    ck_assert(!ocv_image_config_platform(config, platform, 10));
    ck_assert_str_eq(ocv_image_config_maker(config, 0, &variable), "Habana");
    ck_assert_str_eq(variable, "HABANA_LOGS=/var/log");
    ck_assert_ptr_null(ocv_image_config_maker(config, 1, &variable));
    ck_assert(ocv_image_config_version_of(config, "cuda", &version));
    ck_assert_str_eq(version.source, "NVIDIA_REQUIRE_CUDA");
    ck_assert(!ocv_image_config_version_of(config, "rocm", &version));
    ck_assert_ptr_null(ocv_image_config_variable(config, "CUDA"));
    ck_assert_ptr_null(ocv_image_config_label(config, "x"));
}
END_TEST

START_TEST(test_refused)
{
    static const char *const bad[] = {"", "[]", "{", "{\"a\":1,\"a\":2}", "{\"a\":\"\\ud800\"}"};
    struct ocv_image_config *config = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_int_eq(ocv_image_config_parse(bad[i], strlen(bad[i]), &config, NULL),
                         OCV_ERR_DATA);
    char *large = malloc(OCV_IMAGE_CONFIG_MAX + 1);
    memset(large, ' ', OCV_IMAGE_CONFIG_MAX + 1);
    memcpy(large, "{}", 2);
    ck_assert_int_eq(ocv_image_config_parse(large, OCV_IMAGE_CONFIG_MAX, &config, NULL), OCV_OK);
    ocv_image_config_free(config);
    ck_assert_int_eq(ocv_image_config_parse(large, OCV_IMAGE_CONFIG_MAX + 1, &config, NULL),
                     OCV_ERR_DATA);
    free(large);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("image config");
    TCase *tc = tcase_create("image config");
    tcase_add_loop_test(tc, test_versions, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tc, test_rest);
    tcase_add_test(tc, test_refused);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
