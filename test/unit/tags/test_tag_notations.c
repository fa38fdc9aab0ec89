/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared notations of the shipped tag rules. */
#include "test/unit/tags/shipped_rules.h"

#define CUDA(version) "nvidia :: cuda_version_lower_bound :: " version
#define GFX(arch) "amd :: gfx_arch :: " arch
#define AMD(arch) GFX(arch) ", amd :: rocm_user_space :: 7.0"
#define NPU(type) "ascend :: npu_type :: " type

/* What is written in several ways is one thing: the shared notations, in tags of families that use
 * them. */
static const struct {
    const char *reference, *properties, *key, *value;
} written[] = {
    {"rayproject/ray:2.49.2-py312-cuda13", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py3.12-cuda13.0", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-cp312-cu130", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-python3.12-cuda-13", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py-3.12.4-cuda13.0.2", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py3-cu13", CUDA("13.0"), "python", "3"},
    {"rayproject/ray:2.49.2-py27-cuda-12", CUDA("12.0"), "python", "2.7"},
    {"rayproject/ray:2.49.2-cuda121", CUDA("12.1"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cuda92", CUDA("9.2"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cu92", CUDA("9.2"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cuda-9", CUDA("9.0"), "version", "2.49.2"},
    {"vllm/vllm-openai:v0.14.1-cu130-ubuntu22.04", CUDA("13.0"), "os", "ubuntu22.04"},
    {"vllm/vllm-openai:v0.14.1-cu130-ubuntu2204", CUDA("13.0"), "os", "ubuntu22.04"},
    {"vllm/vllm-openai:v0.14.1-cu130-22.04", CUDA("13.0"), "os", "ubuntu22.04"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi30x", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm7.0-mi300", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm-7.0-mi300x", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm7.0.2-mi325", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx94X-dcgpu", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx942", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi35x", AMD("gfx950"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi355x", AMD("gfx950"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx950-dcgpu", AMD("gfx950"), "version", "v0.5.18"},
    {"rocm/vllm:rocm7.0_gfx90X-dcgpu_vllm_0.16.0", GFX("gfx908") ", " AMD("gfx90a"), "vllm",
     "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx110X-dgpu_vllm_0.16.0",
     GFX("gfx1100") ", " GFX("gfx1101") ", " AMD("gfx1102"), "vllm", "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx110X-all_vllm_0.16.0",
     GFX("gfx1100") ", " GFX("gfx1101") ", " GFX("gfx1102") ", " AMD("gfx1103"), "vllm", "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx120X-all_vllm_0.16.0", GFX("gfx1200") ", " AMD("gfx1201"), "vllm",
     "0.16.0"},
    {"lmsysorg/sglang:v0.5.18-mi300x", GFX("gfx942"), "version", "v0.5.18"},
    {"quay.io/ascend/cann:9.0.0-910B-ubuntu22.04-py3.12", NPU("910b"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-800I-A2-ubuntu2204-cp312", NPU("910b"), "os", "ubuntu22.04"},
    {"quay.io/ascend/cann:9.0.0-310P-openeuler24.03", NPU("310p"), "os", "openeuler24.03"},
    {"quay.io/ascend/cann:9.0.0-300I-Duo-openEuler2403-lts", NPU("310p"), "version", "9.0.0"},
    {"quay.io/ascend/cann:9.0.0-A3-py312", NPU("a3"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-800I-A3-py312", NPU("a3"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-910c-py312", NPU("a3"), "python", "3.12"},
};

START_TEST(test_notations)
{
    ocv_auto(ocv_tag) tag = parse(written[_i].reference);
    ocv_auto_buffer got;
    ocv_buffer_init(&got, 4096);
    format_without_devices(tag, &got);
    ck_assert_msg(strcmp(got.data ? got.data : "", written[_i].properties) == 0, "%s: %s",
                  written[_i].reference, got.data);
    ck_assert_msg(strcmp(group_of(tag, written[_i].key), written[_i].value) == 0, "%s: %s",
                  written[_i].reference, group_of(tag, written[_i].key));
    ck_assert_msg(ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL) == 0, "%s", written[_i].reference);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tag_notations");
    TCase *tcase = tcase_create("tag_notations");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, test_notations, 0, sizeof(written) / sizeof(*written));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
