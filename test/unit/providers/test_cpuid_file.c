/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/cpu/cpuid.c and cpuinfo.c: what the files of a processor may hold. */
#include "lib/probe/cpu/cpuid.h"
#include "ocivariant-probe.h"
#include "test/unit/core_util.h"

#define DATA "test/data/cpuid"

static void check_bad(const char *text, const char *message)
{
    struct ocv_error err = {0};
    struct ocv_cpuid cpuid;
    ck_assert_int_eq(ocv_cpuid_parse("f", text, strlen(text), &cpuid, &err), OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" in \"%s\"", message, err.message);
}

START_TEST(malformed_files)
{
    check_bad("", "f: no CPUID leaf");
    check_bad("# nothing\n\n", "f: no CPUID leaf");
    check_bad("xcr0 7\n", "f: no CPUID leaf");
    check_bad("0 0 0 0 0 0\n1 0 0 0 g 0\n", "f:2: \"g\" is not a word");
    check_bad("0 0 0 0 0\n", "f:1: 5 columns");
    check_bad("# c\n0 0 0 0 0 # 0\n", "f:2: 5 columns");
    check_bad("0 0 0 0 0 0 0\n", "f:1: \"0\" is one column too many");
    check_bad("0 0 123456789 0 0 0\n", "f:1: \"123456789\" is not a word");
    check_bad("0x 0 0 0 0 0\n", "f:1: \"0x\" is not a word");
    check_bad("-1 0 0 0 0 0\n", "f:1: \"-1\" is not a word");
    check_bad("0 0 0 0 0 0\nxcr0\n", "f:2: xcr0 has no value");
    check_bad("0 0 0 0 0 0\nxcr0 7 7\n", "f:2: \"7\" is one column too many");
    check_bad("0 0 0 0 0 0\n"
              "xcr0 7\n"
              "xcr0 7\n",
              "f:3: duplicate xcr0");
    check_bad("xcr0 12345678123456781\n", "f:1: \"12345678123456781\" is not a word");
    check_bad("1 0 0 0 0 0\n1 0 1 1 1 1\n", "f: duplicate leaf 00000001 subleaf 00000000");
}
END_TEST

START_TEST(well_formed_files)
{
    static const char text[] = "# any order, case, 0x and CRLF\r\n"
                               "\t0x80000000 0 80000001 0 0 0 # comment\r\n"
                               "7 0 0 ABCDEF01 0 0\n"
                               "0 0 7 0 0 0\n"
                               "xcr0 FFFFFFFFFFFFFFFF\n"
                               "1 0 0 0 8000000 1";
    struct ocv_cpuid cpuid;
    ck_assert_int_eq(ocv_cpuid_parse("f", text, strlen(text), &cpuid, NULL), 0);
    ck_assert_uint_eq(cpuid.n, 4);
    ck_assert_uint_eq(ocv_cpuid_word(&cpuid, 7, 0, OCV_EBX), 0xabcdef01);
    ck_assert_uint_eq(ocv_cpuid_word(&cpuid, 1, 0, OCV_EDX), 1);
    ck_assert_uint_eq(ocv_cpuid_word(&cpuid, 9, 0, OCV_EDX), 0);
    ck_assert(ocv_cpuid_xcr0(&cpuid) == UINT64_MAX);
    ocv_cpuid_free(&cpuid);
}
END_TEST

/* At the limit of leaves and one past it. */
START_TEST(number_of_leaves)
{
    struct ocv_error err = {0};
    struct ocv_cpuid cpuid;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CPUID_FILE_MAX);
    for (unsigned i = 0; i < OCV_CPUID_ROWS_MAX; i++)
        ck_assert_int_eq(ocv_buffer_printf(&text, NULL, "%x 0 0 0 0 0\n", i), 0);
    ck_assert_int_eq(ocv_cpuid_parse("f", text.data, text.len, &cpuid, &err), 0);
    ck_assert_uint_eq(cpuid.n, OCV_CPUID_ROWS_MAX);
    ocv_cpuid_free(&cpuid);
    ck_assert_int_eq(ocv_buffer_printf(&text, NULL, "ffffffff 0 0 0 0 0\n"), 0);
    ck_assert_int_eq(ocv_cpuid_parse("f", text.data, text.len, &cpuid, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "f:4097: more than 4096 leaves"));
}
END_TEST

START_TEST(unreadable_files)
{
    struct ocv_error err = {0};
    struct ocv_probe_options options = {.cpuid = DATA "/no-such-file"};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    ck_assert_int_eq(ocv_probe(&options, &text, &err), OCV_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "no-such-file"));
    options.cpuid = DATA;
    ck_assert_int_eq(ocv_probe(&options, &text, &err), OCV_ERR_IO);
    options.cpuid = "/dev/zero"; /* endless */
    ck_assert_int_eq(ocv_probe(&options, &text, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "/dev/zero"));
}
END_TEST

static struct ocv_cpuinfo cpuinfo_of(const char *text)
{
    struct ocv_cpuinfo cpuinfo;
    struct ocv_buffer buffer;
    ocv_buffer_init(&buffer, OCV_CPUINFO_MAX);
    ck_assert_int_eq(ocv_buffer_append(&buffer, text, strlen(text), NULL), 0);
    ck_assert_int_eq(ocv_cpuinfo_parse(&buffer, &cpuinfo, NULL), 0);
    ck_assert_ptr_null(buffer.data);
    return cpuinfo;
}

START_TEST(cpuinfo_flags_are_those_of_all_processors)
{
    struct ocv_cpuinfo c = cpuinfo_of("processor\t: 0\nflags\t\t: fpu lm avx2 pni\n\n"
                                      "processor\t: 1\nflags\t\t: pni lm fpu\n\n"
                                      "processor\t: 2\nflags\t\t: fpu lm avx2 pni");
    ck_assert_uint_eq(c.n_flags, 3);
    ck_assert(ocv_cpuinfo_has(&c, "fpu") && ocv_cpuinfo_has(&c, "lm") &&
              ocv_cpuinfo_has(&c, "pni"));
    ck_assert(!ocv_cpuinfo_has(&c, "avx2") && !ocv_cpuinfo_has(&c, "pn"));
    ck_assert_str_eq(c.architecture, "amd64");
    ocv_cpuinfo_free(&c);
}
END_TEST

START_TEST(cpuinfo_tells_the_architecture)
{
    static const struct {
        const char *text, *architecture, *variant;
    } cases[] = {
        {"flags : fpu mmx\n", "386", NULL},
        {"flags : fpu lm\n", "amd64", NULL},
        {"fdiv_bug : no\nf00f_bug : no\nfpu : yes\nflags : fpu lm\n", "386", NULL},
        {"model name : ARMv6-compatible processor rev 7 (v6l)\nFeatures : half thumb\n"
         "CPU architecture: 7\n",
         "arm", "v6"},
        {"Processor : ARMv6-compatible processor rev 7 (v6l)\nCPU architecture: 7\n", "arm", "v6"},
        {"Processor : ARMv7 Processor rev 4 (v7l)\nCPU architecture: 7\n", "arm", "v7"},
        {"Hardware : ARMv6-compatible\nCPU architecture: 7\n", "arm", "v7"},
        {"Features\t: fp asimd\nCPU architecture: 8\n", "arm64", NULL},
        {"Features\t: half thumb\nCPU architecture: 8\n", "arm", "v8"},
        {"Features\t: half thumb\nCPU architecture: 7\n", "arm", "v7"},
        {"processor\t: 0\nisa\t\t: rv64imafdc\n", "riscv64", NULL},
        {"processor\t: 0\nisa\t\t: rv32imac\n", NULL, NULL},
        {"cpu\t\t: POWER9, altivec supported\n", "ppc64le", NULL},
        {"cpu\t\t: POWER7 (architected), altivec supported\n", "ppc64", NULL},
        {"vendor_id       : IBM/S390\nfeatures\t: esan3 vx\n", "s390x", NULL},
        {"CPU Family\t\t: Loongson-64bit\n", "loong64", NULL},
        {"", NULL, NULL},
        {"no colon here\n:\n: :\n", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_cpuinfo c = cpuinfo_of(cases[i].text);
        ck_assert_pstr_eq(c.architecture, cases[i].architecture);
        ck_assert_pstr_eq(c.variant, cases[i].variant);
        ocv_cpuinfo_free(&c);
    }
}
END_TEST

START_TEST(cpuinfo_with_too_many_flags)
{
    struct ocv_error err = {0};
    struct ocv_cpuinfo cpuinfo;
    for (unsigned n = OCV_CPUINFO_FLAGS_MAX; n <= OCV_CPUINFO_FLAGS_MAX + 1; n++) {
        struct ocv_buffer text;
        ocv_buffer_init(&text, OCV_CPUINFO_MAX);
        ck_assert_int_eq(ocv_buffer_printf(&text, NULL, "flags :"), 0);
        for (unsigned i = 0; i < n; i++)
            ck_assert_int_eq(ocv_buffer_printf(&text, NULL, " f%u", i), 0);
        int status = ocv_cpuinfo_parse(&text, &cpuinfo, &err);
        ck_assert_int_eq(status, n > OCV_CPUINFO_FLAGS_MAX ? OCV_ERR_DATA : OCV_OK);
        if (status == OCV_OK) {
            ck_assert_uint_eq(cpuinfo.n_flags, n);
            ocv_cpuinfo_free(&cpuinfo);
        }
    }
}
END_TEST

RUN_TESTS("cpuid_file", malformed_files, well_formed_files, number_of_leaves, unreadable_files,
          cpuinfo_flags_are_those_of_all_processors, cpuinfo_tells_the_architecture,
          cpuinfo_with_too_many_flags)
