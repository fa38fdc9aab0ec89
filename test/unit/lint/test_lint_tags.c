/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings in the configurations of images, and in tags. */
#include "test/unit/lint/lint_util.h"

START_TEST(requirements)
{
    static const struct {
        const char *text, *cuda;
        bool valid;
    } cases[] = {
        {"cuda>=12.8", "12.8", true},
        {"cuda>=12.8 brand=tesla,driver>=535,driver<536", "12.8", true},
        {"brand=tesla,driver>=535 cuda>=12.4", "12.4", true},
        {"cuda>=12.4 cuda>=11.0,driver>=470", "11.0", true},
        {"cuda>=12.4 driver>=470", NULL, true},
        {"cuda>12.4,arch>=7.0", "12.4", true},
        {"cuda!=12.4", NULL, true},
        {"", NULL, true},
        {"cuda=>12.8", NULL, false},
        {"cuda", NULL, false},
        {"cuda>=12.8,", NULL, false},
        {",cuda>=12.8", NULL, false},
        {"cuda>=", NULL, false},
        {">=12", NULL, false},
        {"kuda>=12.8", NULL, false},
        {"cuda >= 12.8", NULL, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_requirement r = {0};
        struct ocv_error err = {0};
        int status = ocv_requirement_parse(cases[i].text, &r, &err);
        ck_assert_msg((status == OCV_OK) == cases[i].valid, "'%s': %s", cases[i].text, err.message);
        const char *least = status == OCV_OK ? ocv_requirement_least(&r, "cuda") : NULL;
        ck_assert_msg((least == NULL) == (cases[i].cuda == NULL), "'%s'", cases[i].text);
        if (least)
            ck_assert_str_eq(least, cases[i].cuda);
        if (status == OCV_OK)
            ocv_requirement_free(&r);
    }
}
END_TEST

#define CUDA "linux/amd64/x-a a nvidia :: cuda_version_lower_bound :: 12.4, nvidia :: sm_arch :: "
START_TEST(environment)
{
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402", "below cuda 12.8");
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=1\n",
           "OCV402", NULL);
    expect(CUDA
           "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=true\n",
           "OCV402", NULL);
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=0\n",
           "OCV402", "below cuda 12.8");
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_ARCH=arch>=8.0\n", "OCV402", "below arch 8.0");
    expect(CUDA "100_real\n  env NVIDIA_REQUIRE_ARCH=arch>=8.0\n", "OCV402", NULL);
    expect(CUDA "75_real\n  env CUDA_VERSION=12.3.2\n", "OCV404", "is above it");
    expect(CUDA "75_real\n  env CUDA_VERSION=13.0.0\n", "OCV404", "lower major version");
    expect(CUDA "75_real\n  env CUDA_VERSION=12.9.0\n", "OCV404", NULL);
    expect(CUDA "75_real\n  env CUDA_VERSION=unknown\n", "OCV404", NULL);
    expect("linux/amd64/x-a a amd :: rocm_version :: 6.4\n  env ROCM_VERSION=6.3.1\n", "OCV404",
           "another version");
}
END_TEST

/* A version and the first of its major, which runs it, too. */
START_TEST(minor_versions)
{
#define LOWER "nvidia :: cuda_version_lower_bound :: "
#define PAIR(label, a, b) \
    "linux/amd64/x-" label " " label " " LOWER a ", " LOWER b ", nvidia :: sm_arch :: 90_real\n"
    expect(PAIR("a", "12.9", "12.0"), "OCV210", NULL);
    expect(PAIR("a", "11.8", "11.0"), "OCV210", NULL);
    expect(PAIR("a", "12.9", "12.4"), "OCV210", NULL); /* compressed with zstd */
    expect(PAIR("a", "12.4", "12.0"), "OCV210", NULL);
    expect(PAIR("a", "13.0", "12.4"), "OCV210", "2 values");
    expect(PAIR("a", "10.2", "10.0"), "OCV210", "2 values"); /* before the promise */
    expect(PAIR("a", "12.9", "12.1"), "OCV210", "2 values");
    expect(PAIR("a", "13.0", "12.0"), "OCV210", "2 values");
    expect(PAIR("a", "12.9, " LOWER "12.8", "12.0"), "OCV210", "3 values");
    expect("linux/amd64/x-a a x86_64 :: level :: v2, x86_64 :: level :: v3\n", "OCV210",
           "2 values");
#define ZSTD "  code opt/k.so cuda-code 90\n  code opt/k.so cuda-zstd 90\n"
    expect(PAIR("a", "12.8", "12.0") ZSTD, "OCV701",
           "12.0 is claimed, but its files are built for CUDA 12.4");
    expect(PAIR("a", "12.8", "12.4") ZSTD, "OCV701", NULL);
    expect(PAIR("a", "12.8", "12.0") "  code opt/k.so cuda-code 90\n", "OCV701", NULL);
#undef ZSTD
    /* where all that is left is the label, it must choose the older build */
    expect(PAIR("cuda12.6", "12.6", "12.0") PAIR("cuda12.9", "12.9", "12.0"), "OCV120", NULL);
    expect(PAIR("cuda12.10", "12.10", "12.0") PAIR("cuda12.6", "12.6", "12.0"), "OCV120",
           "between cuda12.10 and cuda12.6");
    expect(PAIR("a", "12.9", "12.0") PAIR("b", "12.6", "12.0"), "OCV120", "between a and b");
    expect("linux/amd64/x-a a habana :: arch :: gaudi2, habana :: arch :: gaudi3\n"
           "linux/amd64/x-b b habana :: arch :: gaudi, habana :: arch :: gaudi3\n",
           "OCV120", "between a and b");
    /* what the base image asks for is what it was built with */
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.9\n", "OCV402", NULL);
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402", NULL);
    expect(PAIR("a", "12.6", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402",
           "below cuda 12.8");
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=13.0\n", "OCV402",
           "below cuda 13.0");
    expect("linux/amd64/x-a a " LOWER "12.9, nvidia :: sm_arch :: 90_virtual\n"
           "linux/amd64/x-b b " LOWER "12.0, nvidia :: sm_arch :: 90_real\n  digest-of 0\n"
           "  env NVIDIA_REQUIRE_CUDA=cuda>=12.9\n",
           "OCV402", NULL);
#define TWINS(a, b)                                                    \
    "linux/amd64/x-a a " LOWER a ", nvidia :: sm_arch :: 90_virtual\n" \
    "linux/amd64/x-b b " LOWER b ", nvidia :: sm_arch :: 90_real\n  digest-of 0\n"
    expect(TWINS("12.9", "12.0"), "OCV123", NULL);
    expect(TWINS("12.0", "12.9"), "OCV123", NULL);
    expect(TWINS("12.9", "12.8"), "OCV123", "a and b are the same image");
    expect(TWINS("12.9", "12.0") PAIR("c", "12.6", "12.0"), "OCV121", NULL);
    expect("linux/amd64/x-b b " LOWER "12.0, nvidia :: sm_arch :: 90_real\n"
           "linux/amd64/x-a a " LOWER "12.0, " LOWER "12.6, nvidia :: sm_arch :: 90_real\n",
           "OCV121", "b is never chosen");
#undef TWINS
    /* bounds compare by the lowest value */
    expect(PAIR("a", "12.9", "12.0, nvidia :: cuda_version_upper_bound :: 12.5"), "OCV208", NULL);
    expect(PAIR("a", "12.9", "12.0, nvidia :: cuda_version_upper_bound :: 12.0"), "OCV208",
           "at least 12.0 and below 12.0");
    expect(PAIR("a", "12.9", "12.0") "  env CUDA_VERSION=12.9.1\n", "OCV404", NULL);
    expect(PAIR("a", "12.9", "12.0") "  env CUDA_VERSION=13.0.0\n", "OCV404", "lower major");
}
END_TEST

/* What Backend.AI schedules by, against what its tags say. */
START_TEST(tags_and_labels)
{
#define TAGGED(properties, labels, tag) \
    "linux/amd64 -\nlinux/amd64/x-a a " properties "\n" labels "tag lablup/app:" tag " = 1\n"
#define ATOM "rebellions :: arch :: atom"
#define SLOT(name, least) "  label ai.backend.resource.min." name "=" least "\n"
#define LIST(names) "  label ai.backend.accelerators=" names "\n"
    expect(TAGGED(ATOM, LIST("atom"), "1.0-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, LIST("cuda,atom"), "1.0-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, LIST("*"), "1.0-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, LIST("some-new"), "1.0-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, LIST("atom-max"), "1.0-atom"), "OCV307",
           "it is for rebellions :: arch :: atom, its image's label says "
           "ai.backend.accelerators=atom-max");
    expect(TAGGED(ATOM "_max", LIST("atom,atom-plus"), "1.0-atommax"), "OCV307", "atom_max");
    expect(TAGGED(ATOM "_max", SLOT("atom.device", "1"), "1.0-atom_max"), "OCV307",
           "resource.min.atom.device=1");
    expect(TAGGED(ATOM "_max", SLOT("atom.device", "0"), "1.0-atom_max"), "OCV307", NULL);
    expect(TAGGED(ATOM "_max", SLOT("atom-max.device", "1") SLOT("mem", "1g"), "1.0-atom_max"),
           "OCV307", NULL);
    expect(TAGGED("furiosa :: arch :: renegade", LIST("rngd"), "1.0-renegade"), "OCV307", NULL);
    expect(TAGGED("furiosa :: arch :: renegade", LIST("warboy"), "1.0-rngd"), "OCV307", "renegade");
    expect(TAGGED(LOWER "12.8", SLOT("cuda.shares", "1"), "1.0-cuda12.8"), "OCV307", NULL);
    expect(TAGGED(LOWER "12.8", LIST("rocm"), "1.0-cuda12.8"), "OCV307", "accelerators=rocm");
    /* a processor's build may use an accelerator, not need it */
    expect(TAGGED("x86_64 :: level :: v3", LIST("cuda"), "1.0-py312"), "OCV307", NULL);
    expect(TAGGED("x86_64 :: level :: v3", SLOT("cuda.device", "0"), "1.0-py312"), "OCV307", NULL);
    expect(TAGGED("x86_64 :: level :: v3", SLOT("cuda.device", "1"), "1.0-py312"), "OCV307",
           "it is for no accelerator");
    expect(TAGGED("x86_64 :: level :: v3", SLOT("cuda.device", "1"), "1.0-py312-gpu"), "OCV307",
           NULL); /* which, it does not say */
#define DISTRIBUTION(name) "  label ai.backend.base-distro=" name "\n"
    expect(TAGGED(ATOM, DISTRIBUTION("ubuntu22.04"), "1.0-ubuntu22.04-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, DISTRIBUTION("ubuntu22.04"), "1.0-ubuntu-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, DISTRIBUTION("ubuntu22.04"), "1.0-atom"), "OCV307", NULL);
    expect(TAGGED(ATOM, DISTRIBUTION("ubuntu16.04"), "1.0-ubuntu22.04-atom"), "OCV307",
           "it is of ubuntu22.04, its image's label says ai.backend.base-distro=ubuntu16.04");
#undef TAGGED
#undef DISTRIBUTION
}
END_TEST

/* In a family whose builds do so, a tag means its version, its major's first version, or both. */
START_TEST(minor_version_tags)
{
#define TAGGED(values, tag) \
    "linux/amd64 null\nlinux/amd64/x-a a " values "\ntag vllm/vllm-openai:" tag " = 1\n"
#define BOTH LOWER "12.9, " LOWER "12.0, nvidia :: sm_arch :: 90_real"
    expect(TAGGED(BOTH, "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(BOTH, "v0.14.1"), "OCV301", NULL);
    expect(TAGGED(LOWER "12.9, nvidia :: sm_arch :: 90_real", "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(LOWER "12.0, nvidia :: sm_arch :: 90a_real", "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(BOTH, "v0.14.1-cu126"), "OCV301", "has another value");
    expect(TAGGED(BOTH, "v0.14.1-cu130"), "OCV301", "has another value");
    expect(TAGGED(LOWER "12.8", "v0.14.1-cu129"), "OCV301", "has another value");
    /* nobody has said of these that they run so */
    expect("linux/amd64 null\nlinux/amd64/x-a a " LOWER "12.0\n"
           "tag rayproject/ray:2.49.2-cu128 = 1\n",
           "OCV301", "has another value");
    expect("linux/amd64 null\nlinux/amd64/x-a a " LOWER "12.9, " LOWER "12.0\n"
           "tag r.example/app:1.0-cu129 = 1\n",
           "OCV301", NULL);
#undef TAGGED
}
END_TEST

/* One image under two labels: a tag that agrees with either is right. */
START_TEST(tags_of_shared_images)
{
#define SHARED(a, b, tag)                                                                      \
    "linux/amd64 null\nlinux/amd64/x-a a nvidia :: cuda_version_lower_bound :: " a             \
    "\nlinux/amd64/x-b b nvidia :: cuda_version_lower_bound :: " b "\n  digest-of 1\ntag " tag \
    " = 1\n"
    expect(SHARED("12.9, nvidia :: sm_arch :: 89_real", "12.9, nvidia :: sm_arch :: 86_real",
                  "ghcr.io/huggingface/text-embeddings-inference:86-1.9"),
           "OCV301", NULL);
    expect(SHARED("12.9, nvidia :: sm_arch :: 89_real", "12.9, nvidia :: sm_arch :: 86_real",
                  "ghcr.io/huggingface/text-embeddings-inference:hopper-1.9"),
           "OCV301", "entry 1 (a) of the index has another value");
    expect(SHARED("12.8", "12.6", "r.example/app:1.0-cu126"), "OCV301", NULL);
    expect(SHARED("12.6", "12.8", "r.example/app:1.0-cu126"), "OCV301", NULL);
    expect(SHARED("12.8", "12.9", "r.example/app:1.0-cu126"), "OCV301",
           "12.8 of entry 1 (a) is above it");
#undef SHARED
}
END_TEST

START_TEST(tag_drift)
{
    expect("tag r.example/a:1-cuda12\ntag r.example/a:2-cu128\ntag r.example/a:3-cu126\n", "OCV302",
           "CUDA is written 'cuda12' here and 'cu126'");
    expect("tag r.example/a:1-cuda12\ntag r.example/b:2-cu128\n", "OCV302", NULL);
    expect("tag docker.io/lablup/a:1-cuda12.1\ntag docker.io/lablup/b:2-cu124\n", "OCV302",
           "CUDA is written 'cu124' here and 'cuda12.1'"); /* one family */
    expect("tag r.example/a:1-cuda12.1\ntag r.example/a:2-cuda121\n", "OCV302", "'cuda121'");
    expect("tag r.example/a:1-py312\ntag r.example/a:2-py3.12\ntag r.example/a:2-py3.11\n",
           "OCV302", "Python");
    expect("tag r.example/a:1-x86_64\ntag r.example/a:2-aarch64\n", "OCV302", NULL);
    expect("tag r.example/a:1-x86_64\ntag r.example/a:2-amd64\ntag r.example/a:3-amd64\n", "OCV302",
           "'x86_64'");
    expect("tag r.example/a:300I-Duo\ntag r.example/a:300l-Duo\ntag r.example/a:2-300I-Duo\n",
           "OCV303", "did you mean 300I?");
    expect("tag r.example/a:1.10\ntag r.example/a:1.1O\n", "OCV303", NULL);
    expect("tag r.example/a:2-300l-Duo\n", "OCV303", "did you mean 300I?");
    expect("tag r.example/a:2-300I-Duo\ntag r.example/b:2-300i-duo\n", "OCV303", NULL);
    expect("tag r.example/a:300\ntag r.example/a:3001\n", "OCV303", NULL);
    expect("tag r.example/a:1-RC2\ntag r.example/a:2-rc2\n", "OCV303", "RC2");
}
END_TEST

/* A repository that no rule knows: cu128 says what it says all the same. */
START_TEST(tags_without_rules)
{
#define BUILT(version, tag)                                                              \
    "linux/amd64 null\nlinux/amd64/x-c c nvidia :: cuda_version_lower_bound :: " version \
    "\ntag r.example/app:" tag " = 1\n"
    expect(BUILT("12.8", "1.0-cu126"), "OCV301", "it says 'cu126'");
    expect(BUILT("12.8", "1.0-cuda12.6.1"), "OCV301", "is above it");
    expect(BUILT("12.8", "1.0_cu13"), "OCV301", "has a lower major version");
    expect(BUILT("12.8", "1.0-rocm7.1"), "OCV301", "is for other accelerators");
    expect(BUILT("12.8", "1.0-cu128"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cu129"), "OCV301", NULL);
    expect(BUILT("12.8", "cuda12-1.0"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cuda"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cube11"), "OCV301", NULL);
    expect(BUILT("12.8", "cu12345-1"), "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_version_lower_bound :: 7.0\n"
           "tag r.example/app:1.0-rocm6.4 = 1\n",
           "OCV301", "it says 'rocm6.4'");
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_version_lower_bound :: 6.3\n"
           "tag r.example/app:1.0-rocm700 = 1\n",
           "OCV301", NULL);
    /* an image brings its own ROCm: the version is the one that the tag says */
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.14\n"
           "tag r.example/app:1.0-rocm714 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 6.2\n"
           "tag r.example/app:1.0-rocm624 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 6.1\n"
           "tag r.example/app:1.0-rocm613 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 10.0\n"
           "tag r.example/app:1.0-rocm100 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.2\n"
           "tag r.example/app:1.0-rocm714 = 1\n",
           "OCV301", "it says 'rocm714'");
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.2\n  env "
           "ROCM_VERSION=7.1.1\n",
           "OCV404", "7.1.1");
    expect("linux/amd64 null\nlinux/amd64/x-v v x86_64 :: level :: v3\n"
           "tag r.example/app:1.0-cu128 = 1\ntag r.example/app:2.0-cu128 = 0\n",
           "OCV301", NULL);
#undef BUILT
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("lint tags");
    TCase *tcase = tcase_create("lint tags");
    tcase_add_unchecked_fixture(tcase, read_rules, free_rules);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, requirements);
    tcase_add_test(tcase, environment);
    tcase_add_test(tcase, minor_versions);
    tcase_add_test(tcase, tags_and_labels);
    tcase_add_test(tcase, minor_version_tags);
    tcase_add_test(tcase, tags_of_shared_images);
    tcase_add_test(tcase, tag_drift);
    tcase_add_test(tcase, tags_without_rules);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
