/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What files say of the machines that can run them: each format, cut anywhere, and lied about. */
#include "test/unit/content/content_util.h"

static const struct {
    const char *name;
    const char *facts;
} samples[] = {
    {"cuda.so", "machine amd64 5048;x86-level 3 0;needed libc.so.6 0;needed libcudart.so.12 0;"
                "soname libtest.so.1 0;glibc 2.34 0;glibcxx 3.4.30 0;cuda-code 80 256;"
                "cuda-code 90a 128;cuda-code 100f 192;cuda-ptx 120 128;ptx-version 8.7 0;"},
    {"empty.so", "machine amd64 4584;cuda-empty 52 128;cuda-empty 75 128;"},
    {"zstd.so", "machine amd64 4584;needed libcudart.so.12 0;cuda-code 80 128;cuda-code 90 128;"
                "cuda-zstd 80 0;"},
    /* where no section has code, what lies elsewhere tells; else it is only told of */
    {"elsewhere.so", "machine amd64 4904;needed libc.so.6 0;cuda-code 80 128;cuda-code 90a 128;"
                     "cuda-code 100f 192;cuda-ptx 120 128;ptx-version 8.7 0;"},
    {"beside.so", "machine amd64 9120;cuda-code 80 128;cuda-zstd 80 0;outside cuda-code 75 256;"
                  "outside cuda-code 80 128;outside cuda-code 86 64;outside cuda-ptx 75 128;"},
    {"hip.so", "machine amd64 5288;needed libamdhip64.so.7 0;hip-code gfx90a 256;"
               "hip-code gfx942:sramecc+:xnack- 512;"},
    {"hip-compressed.so",
     "machine amd64 5328;hip-code gfx90a 265;hip-code gfx942:sramecc+:xnack- 530;"},
    {"kpack.so", "machine amd64 12752;needed libamdhip64.so.7 0;kpack-name lib/libx.so 0;"
                 "kpack-path ../.kpack/x_@GFXARCH@.kpack 0;kpack-path /opt/x.kpack 0;"},
    {"x_gfx942.kpack", "kpack-code gfx942 lib/libx.so 304;kpack-code gfx942 lib/liby.so 3;"
                       "kpack-code gfx942:xnack+ lib/libx.so 203;"},
    {"sycl.so", "machine amd64 4384;sycl-code spir64_gen 40;"},
    {"compat.so", "machine arm64 4336;soname libcuda.so.1 0;cuda-compat yes 0;"},
    {"driver.so", "machine amd64 512;needed libc.so.6 0;soname libcuda.so.1 0;"},
    {"cuda.fatbin", "cuda-code 80 128;cuda-code 90a 128;cuda-code 100f 192;cuda-ptx 120 128;"
                    "cuda-ir 90 128;ptx-version 8.7 0;"},
    {"sm_90a.cubin", "machine cuda 116;cuda-code 90a 116;"},
    {"sm_86.cubin", "machine cuda 96;cuda-code 86 96;"},
    {"sm_100a.cubin", "machine cuda 111;cuda-code 100a 111;"},
    {"sm_103a.cubin", "machine cuda 232;cuda-code 103a 232;toolkit 13.0 0;"},
    {"gfx942.hsaco", "machine amdgpu 130;hip-code gfx942:xnack- 130;"},
    {"plain.bundle", "hip-code gfx90a 256;hip-code gfx942:sramecc+:xnack- 512;"},
    {"zlib1.bundle", "hip-code gfx90a 0;hip-code gfx942:sramecc+:xnack- 0;"},
    {"zlib2.bundle", "hip-code gfx90a 41;hip-code gfx942:sramecc+:xnack- 83;"},
    {"zstd3.bundle", "hip-code gfx90a 267;hip-code gfx942:sramecc+:xnack- 535;"},
    {"sizes-lie.bundle", "hip-code gfx90a 8796093022208;hip-code gfx942:sramecc+:xnac 29125846;"},
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void check_facts(const char *data, size_t len, size_t chunk, bool seek, const char *want,
                        const char *what)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = read_chunks(reader, data, len, chunk, seek);
    char *text = facts_text(&facts);
    ck_assert_msg(!strcmp(text, want), "%s, pieces of %zu: %s\nwanted: %s", what, chunk, text,
                  want);
    free(text);
    ocv_content_facts_free(&facts);
    ocv_content_reader_free(reader);
}

START_TEST(test_samples)
{
    static const size_t chunks[] = {1, 7, 64, 1000, 1 << 20};
    struct ocv_buffer bytes = sample(samples[_i].name);
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        check_facts(bytes.data, bytes.len, chunks[i], false, samples[_i].facts, samples[_i].name);
        check_facts(bytes.data, bytes.len, chunks[i], true, samples[_i].facts, samples[_i].name);
    }
    ocv_buffer_free(&bytes);
}
END_TEST

/* The same in a file that is longer than the window, so that the table comes long after. */
START_TEST(test_long_file)
{
    struct ocv_buffer bytes = sample("cuda.so");
    uint64_t table;
    memcpy(&table, bytes.data + 40, sizeof(table));
    size_t gap = (size_t)3 << 20, tail = bytes.len - (size_t)table;
    char *longer = calloc(1, bytes.len + gap);
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, bytes.data, (size_t)table);
    memcpy(longer + table + gap, bytes.data + table, tail);
    uint64_t moved = table + gap;
    memcpy(longer + 40, &moved, sizeof(moved));
    char want[512];
    snprintf(want, sizeof(want), "machine amd64 %zu;%s", bytes.len + gap,
             strstr(samples[0].facts, "x86-level"));
    check_facts(longer, bytes.len + gap, 100000, false, want, "long file");
    check_facts(longer, bytes.len + gap, 100000, true, want, "long file");
    free(longer);
    ocv_buffer_free(&bytes);
}
END_TEST

/* A linker writes its note behind the code: at every place of it around the end of a window. */
START_TEST(test_note_behind_much_code)
{
    struct ocv_buffer bytes = sample("sm_103a.cubin");
    for (size_t gap = (256 << 10) - 300; gap < (256 << 10) + 20; gap += 3) {
        char want[128], *longer = calloc(1, bytes.len + gap);
        ck_assert_ptr_nonnull(longer);
        memcpy(longer, bytes.data, 64);
        memcpy(longer + 64 + gap, bytes.data + 64, bytes.len - 64);
        snprintf(want, sizeof(want), "machine cuda %zu;cuda-code 103a %zu;toolkit 13.0 0;",
                 bytes.len + gap, bytes.len + gap);
        check_facts(longer, bytes.len + gap, 100000, true, want, "note behind much code");
        free(longer);
    }
    ocv_buffer_free(&bytes);
}
END_TEST

/* Every byte wrong in several ways, and every end: an answer, whatever it is, and never a place for
 * which nothing stands. Sanitizers look on. */
START_TEST(test_lies)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_buffer bytes = sample(samples[_i].name);
    for (size_t at = 0; at < bytes.len; at++) {
        if (at > 600 && at < bytes.len - 600)
            continue; /* padding and code */
        static const unsigned char wrong[] = {0xff, 0x00, 0x7f, 0x01};
        for (size_t k = 0; k < sizeof(wrong); k++) {
            char kept = bytes.data[at];
            bytes.data[at] = (char)wrong[k];
            struct ocv_content_facts facts =
                read_chunks(reader, bytes.data, bytes.len, 1 << 20, k & 1);
            for (size_t i = 0; i < facts.n; i++) {
                ck_assert_int_ge(facts.list[i].bytes, 0);
                ck_assert_str_ne(facts.list[i].value, "");
            }
            bytes.data[at] = kept;
            ocv_content_facts_free(&facts);
        }
    }
    for (size_t len = 0; len < bytes.len; len += 1 + len / 64) {
        struct ocv_content_facts facts = read_chunks(reader, bytes.data, len, 1 << 20, false);
        ocv_content_facts_free(&facts);
    }
    check_facts(bytes.data, bytes.len, 1 << 20, false, samples[_i].facts, samples[_i].name);
    ocv_buffer_free(&bytes);
    ocv_content_reader_free(reader);
}
END_TEST

/* The same with numbers of 64 bits, as sizes and offsets are: the end of the file, past it, 2^63.
 */
START_TEST(test_wide_lies)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_buffer bytes = sample(samples[_i].name);
    const uint64_t wrong[] = {bytes.len,         bytes.len + 1,  UINT64_C(1) << 62, INT64_MAX,
                              UINT64_C(1) << 63, UINT64_MAX - 7, UINT64_MAX};
    for (size_t at = 0; at + 8 <= bytes.len; at += 4) {
        if (at > 600 && at < bytes.len - 600)
            continue;
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            char kept[8];
            memcpy(kept, bytes.data + at, 8);
            memcpy(bytes.data + at, &wrong[k], 8);
            struct ocv_content_facts facts =
                read_chunks(reader, bytes.data, bytes.len, 1 << 20, k & 1);
            for (size_t i = 0; i < facts.n; i++) {
                ck_assert_int_ge(facts.list[i].bytes, 0);
                ck_assert_str_ne(facts.list[i].value, "");
            }
            memcpy(bytes.data + at, kept, 8);
            ocv_content_facts_free(&facts);
        }
    }
    check_facts(bytes.data, bytes.len, 1 << 20, false, samples[_i].facts, samples[_i].name);
    ocv_buffer_free(&bytes);
    ocv_content_reader_free(reader);
}
END_TEST

/* The place of a section's header in a 64-bit ELF file, by its number. */
static char *section(const struct ocv_buffer *bytes, size_t number)
{
    uint64_t table;
    memcpy(&table, bytes->data + 40, sizeof(table));
    return bytes->data + table + number * 64;
}

/* A section of device code that is said to lie elsewhere is not there; what lies in the file is
 * noticed. */
START_TEST(test_sections_past_the_end)
{
    static const uint64_t offsets[] = {5048, 5049, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct ocv_buffer bytes = sample("cuda.so");
        memcpy(section(&bytes, 1) + 24, &offsets[i], 8);
        check_facts(bytes.data, bytes.len, 1 << 20, i & 1,
                    "machine amd64 5048;x86-level 3 0;needed libc.so.6 0;"
                    "needed libcudart.so.12 0;soname libtest.so.1 0;glibc 2.34 0;"
                    "glibcxx 3.4.30 0;cuda-code 80 256;cuda-code 90a 128;cuda-code 100f 192;"
                    "cuda-ptx 120 128;ptx-version 8.7 0;",
                    "section elsewhere");
        ocv_buffer_free(&bytes);
    }
    /* one that is longer than the file ends with it */
    static const uint64_t sizes[] = {5048, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct ocv_buffer bytes = sample("cuda.so");
        memcpy(section(&bytes, 1) + 32, &sizes[i], 8);
        struct ocv_content_reader *reader = ocv_content_reader_new();
        struct ocv_content_facts facts = read_chunks(reader, bytes.data, bytes.len, 64, i & 1);
        char *text = facts_text(&facts);
        ck_assert_ptr_nonnull(strstr(text, "machine amd64 5048;"));
        for (size_t k = 0; k < facts.n; k++)
            ck_assert_int_le(facts.list[k].bytes, 5048);
        free(text);
        ocv_content_facts_free(&facts);
        ocv_content_reader_free(reader);
        ocv_buffer_free(&bytes);
    }
}
END_TEST

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"

/* A bundle of so many targets, each without code: gfx0, gfx1, ... */
static char *bundle_of(size_t n, size_t *len)
{
    char *bytes = calloc(1, 32 + n * (24 + 16));
    uint64_t number = n;
    *len = 32;
    memcpy(bytes, BUNDLE_MAGIC, 24);
    memcpy(bytes + 24, &number, 8);
    for (size_t i = 0; i < n; i++) {
        char name[16];
        const uint64_t words[] = {0, 1, (uint64_t)snprintf(name, sizeof(name), "hip-gfx%zu", i)};
        memcpy(bytes + *len, words, 24);
        memcpy(bytes + *len + 24, name, words[2]);
        *len += 24 + words[2];
    }
    return bytes;
}

START_TEST(test_as_many_targets_as_a_bundle_may_have)
{
    static const size_t counts[][2] = {{1024, 1024}, {1025, 0}};
    for (size_t i = 0; i < 2; i++) {
        size_t len, found = 0;
        char *bytes = bundle_of(counts[i][0], &len);
        struct ocv_content_reader *reader = ocv_content_reader_new();
        struct ocv_content_facts facts = read_chunks(reader, bytes, len, len, false);
        for (size_t k = 0; k < facts.n; k++)
            found += facts.list[k].fact == OCV_CONTENT_HIP_CODE;
        ck_assert_uint_eq(found, counts[i][1]);
        ocv_content_facts_free(&facts);
        ocv_content_reader_free(reader);
        free(bytes);
    }
}
END_TEST

/* The number of compressed bundles that are decompressed is limited. */
START_TEST(test_as_many_inflations_as_a_file_may_want)
{
    struct ocv_buffer bytes = sample("zlib2.bundle");
    size_t step = (bytes.len + 7) & ~(size_t)7, n = 16384;
    char *all = calloc(n + 1, step);
    for (size_t i = 0; i <= n; i++)
        memcpy(all + i * step, bytes.data, bytes.len);
    char want[160];
    snprintf(want, sizeof(want), "hip-code gfx90a %zu;hip-code gfx942:sramecc+:xnack- %zu;", 41 * n,
             83 * n);
    check_facts(all, n * step, 1 << 20, false, want, "16384 bundles");
    size_t len = strlen(want);
    snprintf(want + len, sizeof(want) - len, "%s",
             "not-looked-at compressed device code: too many bundles 0;");
    check_facts(all, (n + 1) * step, 1 << 20, false, want, "16385 bundles");
    free(all);
    ocv_buffer_free(&bytes);
}
END_TEST

/* An ELF file of `n` sections for SYCL code, each for a target of its own. */
static char *sycl_sections(size_t n, size_t *len)
{
    size_t name = 48, table = 64 + (n + 1) * name;
    char *bytes = calloc(1, *len = table + (n + 2) * 64);
    uint64_t place = table, count = n + 2, strings[] = {64, (n + 1) * name};
    uint32_t last = (uint32_t)n + 1;
    uint16_t machine = 62, entry = 64, extended = 0xffff;
    memcpy(bytes, "\177ELF\2\1\1", 7);
    memcpy(bytes + 18, &machine, 2);
    memcpy(bytes + 40, &place, 8);
    memcpy(bytes + 58, &entry, 2);
    memcpy(bytes + 62, &extended, 2);
    memcpy(bytes + table + 32, &count, 8); /* of many sections the first says how many */
    memcpy(bytes + table + 40, &last, 4);
    memcpy(bytes + table + last * 64 + 24, strings, 16);
    for (size_t i = 1; i <= n; i++) {
        uint32_t word[] = {(uint32_t)(i * name), 1};
        snprintf(bytes + 64 + i * name, name, BUNDLE_MAGIC "sycl-%zu", i);
        memcpy(bytes + table + i * 64, word, 8);
    }
    return bytes;
}

/* Each finding is compared with all before it, so many of them are work. */
START_TEST(test_as_many_sections_as_a_table_has)
{
    for (size_t n = 100; n <= 20000; n *= 200) {
        size_t len, found = 0;
        char *bytes = sycl_sections(n, &len);
        struct ocv_content_reader *reader = ocv_content_reader_new();
        struct ocv_content_facts facts = {0};
        struct ocv_error err = {0};
        ocv_content_allow(reader, (int64_t)len);
        ck_assert_int_eq(ocv_content_feed(reader, bytes, len, &err), OCV_OK);
        ck_assert_int_eq(ocv_content_end(reader, &facts, &err), n == 100 ? OCV_OK : OCV_ERR_DATA);
        for (size_t k = 0; k < facts.n; k++)
            found += facts.list[k].fact == OCV_CONTENT_SYCL_CODE;
        if (n == 100)
            ck_assert_uint_eq(found, n);
        else
            ck_assert_msg(!strncmp(err.message, "too much to read", 16), "%s", err.message);
        ocv_content_facts_free(&facts);
        ocv_content_reader_free(reader);
        free(bytes);
    }
}
END_TEST

START_TEST(test_cut_off)
{
    struct ocv_buffer bytes = sample("cuda.so");
    check_facts(bytes.data, 4700, 1 << 20, false,
                "machine amd64 4700;x86-level 3 0;needed libc.so.6 0;needed libcudart.so.12 0;"
                "soname libtest.so.1 0;glibc 2.34 0;glibcxx 3.4.30 0;"
                "cuda-code 80 128;cuda-code 90a 128;cuda-code 100f 192;cuda-ptx 120 128;"
                "ptx-version 8.7 0;not-looked-at the section table: the file ends before it 0;",
                "cut off");
    ocv_buffer_free(&bytes);
}
END_TEST

/* A size of 2^63 is not a valid position, but what follows is still found. */
START_TEST(test_huge_sizes)
{
    struct ocv_buffer bytes = sample("cuda.fatbin");
    memset(bytes.data + 8, 0xff, 8);
    check_facts(bytes.data, bytes.len, 64, false, "cuda-ir 90 128;", "container of 2^64 bytes");
    ocv_buffer_free(&bytes);
    bytes = sample("cuda.fatbin");
    memset(bytes.data + 16 + 8, 0xff, 8);
    check_facts(bytes.data, bytes.len, 64, false,
                "cuda-ir 90 128;not-looked-at a malformed CUDA fat binary 0;",
                "entry of 2^64 bytes");
    ocv_buffer_free(&bytes);
}
END_TEST

/* One reader serves all files of a layer: its findings in one must not depend on earlier ones. The
 * last two have older zstd formats, whose decoders keep state. */
START_TEST(test_a_file_leaves_nothing_behind)
{
    static const char *const names[] = {"cuda.so", "hip-compressed.so", "zstd3.bundle",
                                        "older-zstd-1.so", "older-zstd-2.so"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ocv_content_reader *used = ocv_content_reader_new();
        struct ocv_buffer bytes = sample(names[i]);
        struct ocv_content_facts facts = read_chunks(used, bytes.data, bytes.len, 1 << 20, false);
        ocv_content_facts_free(&facts);
        ocv_buffer_free(&bytes);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            struct ocv_content_reader *fresh = ocv_content_reader_new();
            bytes = sample(names[k]);
            facts = read_chunks(fresh, bytes.data, bytes.len, 1 << 20, false);
            char *want = facts_text(&facts);
            ocv_content_facts_free(&facts);
            facts = read_chunks(used, bytes.data, bytes.len, 1 << 20, false);
            char *text = facts_text(&facts);
            ck_assert_msg(!strcmp(text, want), "%s after %s: %s\nalone: %s", names[k], names[i],
                          text, want);
            free(text);
            free(want);
            ocv_content_facts_free(&facts);
            ocv_content_reader_free(fresh);
            ocv_buffer_free(&bytes);
        }
        ocv_content_reader_free(used);
    }
}
END_TEST

START_TEST(test_other_files)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = {0};
    static char text[1000] = "#!/bin/sh\necho no device code\n";
    ck_assert_int_eq(ocv_content_feed(reader, text, 100, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_unwanted(reader), INT64_MAX);
    ck_assert_int_eq(ocv_content_end(reader, &facts, NULL), OCV_OK);
    ck_assert_uint_eq(facts.n, 0);
    ck_assert_int_eq(ocv_content_end(reader, &facts, NULL), OCV_OK); /* an empty file */
    ck_assert_uint_eq(facts.n, 0);
    ocv_content_reader_free(reader);
}
END_TEST

START_TEST(test_paths)
{
    static const struct {
        const char *path, *facts;
    } cases[] = {
        {"opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_Contraction_gfx90a.co",
         "hip-code gfx90a 5;"},
        {"opt/rocm/share/miopen/db/gfx942.kdb", "hip-code gfx942 5;"},
        {"usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libfoo.so.1", "hwcaps x86-64-v3 5;"},
        {"opt/opp/built-in/op_impl/ai_core/tbe/kernel/soc910b/add/Add_1.o",
         "npu-kernel soc910b 5;"},
        {"opt/opp/built-in/op_impl/ai_core/tbe/kernel/config/soc910b/add.json", ""},
        {"usr/lib/python3/dist-packages/triton/runtime/jit.py", "compiler Triton 5;"},
        {"usr/lib/nottriton/runtime/jit.py", ""},
        {"home/gfx942.txt", ""},
        {"a/gfx.co", ""},
        {"glibc-hwcaps", ""},
        {"triton/runtime/jit.py", "compiler Triton 5;"}, /* of a wheel */
        {"root/k.tar.gz", "not-looked-at an archive, not opened 0;"},
        {"k.deb", "not-looked-at an archive, not opened 0;"},
        {"root/k.gz", ""},
        {".deb", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ocv_content_facts facts = {0};
        ck_assert_int_eq(ocv_content_path(&facts, cases[i].path, 5, NULL), OCV_OK);
        char *text = facts_text(&facts);
        ck_assert_str_eq(text, cases[i].facts);
        free(text);
        ocv_content_facts_free(&facts);
    }
}
END_TEST

/* A driver's library, by its name and soname; one to link with, and one for other drivers. */
START_TEST(test_drivers)
{
    static const struct {
        const char *path, *soname, *facts;
    } cases[] = {
        {"usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", "libcuda.so.1", "driver NVIDIA 5;"},
        {"libcuda.so.1", "libcuda.so.1", "driver NVIDIA 5;"},
        {"usr/lib64/libnvidia-ml.so.610.43", "libnvidia-ml.so.1", "driver NVIDIA 5;"},
        {"usr/lib64/libnvidia-ptxjitcompiler.so.570.1", "libnvidia-ptxjitcompiler.so.1",
         "driver NVIDIA 5;"},
        {"usr/local/Ascend/driver/lib64/driver/libascend_hal.so", "libascend_hal.so",
         "driver Ascend 5;"},
        {"usr/local/cuda/lib64/stubs/libcuda.so.1", "libcuda.so.1", ""},
        {"usr/local/cuda/lib64/stubs/libcuda.so", "libcuda.so.1", ""},
        {"usr/local/cuda-12.8/compat/libcuda.so.570.86.10", "libcuda.so.1", ""},
        {"opt/conda/cuda-compat/libnvidia-ptxjitcompiler.so.570.86.10",
         "libnvidia-ptxjitcompiler.so.1", ""},
        {"usr/lib/libcuda.so", "libcuda.so.1", ""},
        {"usr/lib/libcuda.so.old", "libcuda.so.1", ""},
        {"usr/lib/libcuda.so.1", "libmine.so.1", ""},
        {"usr/lib/libcuda.so.1", NULL, ""}, /* no library, or an empty file left by a runtime */
        {"usr/lib/libcudart.so.12", "libcudart.so.12", ""},
        {"usr/local/Ascend/ascend-toolkit/latest/devlib/libascend_hal.so", "libascend_hal.so", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ocv_content_facts facts = {0}, own = {0};
        if (cases[i].soname)
            ck_assert_int_eq(
                ocv_content_facts_add(&facts, OCV_CONTENT_SONAME, cases[i].soname, 0, 1, NULL),
                OCV_OK);
        ck_assert_int_eq(ocv_content_path(&facts, cases[i].path, 5, NULL), OCV_OK);
        own.list = facts.list + (cases[i].soname ? 1 : 0);
        own.n = facts.n - (cases[i].soname ? 1 : 0);
        char *text = facts_text(&own);
        ck_assert_msg(!strcmp(text, cases[i].facts), "%s: %s", cases[i].path, text);
        free(text);
        ocv_content_facts_free(&facts);
    }
    struct ocv_content_facts compat = {0}; /* moved elsewhere: OCV707 */
    ck_assert_int_eq(ocv_content_facts_add(&compat, OCV_CONTENT_SONAME, "libcuda.so.1", 0, 1, NULL),
                     OCV_OK);
    ck_assert_int_eq(ocv_content_facts_add(&compat, OCV_CONTENT_CUDA_COMPAT, "yes", 0, 1, NULL),
                     OCV_OK);
    ck_assert_int_eq(ocv_content_path(&compat, "opt/libcuda.so.1", 5, NULL), OCV_OK);
    ck_assert_uint_eq(compat.n, 2);
    ocv_content_facts_free(&compat);
}
END_TEST

START_TEST(test_merge)
{
    struct ocv_content_facts a = {0}, b = {0};
    ck_assert_int_eq(ocv_content_facts_add(&a, OCV_CONTENT_GLIBC, "2.4", 0, 1, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_facts_add(&a, OCV_CONTENT_CUDA_CODE, "90", 5, 1, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_facts_add(&b, OCV_CONTENT_CUDA_CODE, "90", 7, 2, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_facts_add(&b, OCV_CONTENT_CUDA_CODE, "100", 1, 1, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_facts_add(&b, OCV_CONTENT_GLIBC, "2.34", 0, 1, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_facts_merge(&a, &b, NULL), OCV_OK);
    ocv_content_facts_sort(&a);
    char *text = facts_text(&a);
    ck_assert_str_eq(text, "glibc 2.34 0;cuda-code 90 12;cuda-code 100 1;");
    ck_assert_int_eq(a.list[1].count, 3);
    free(text);
    ocv_content_facts_free(&a);
    ocv_content_facts_free(&b);
    for (int i = 0; i < OCV_CONTENT_FACTS; i++)
        ck_assert_int_eq(ocv_content_fact_find(ocv_content_fact_name((enum ocv_content_fact)i)), i);
    ck_assert_int_eq(ocv_content_fact_find("no-such"), OCV_CONTENT_FACTS);
}
END_TEST

START_TEST(test_archives_by_their_names)
{
    static const struct {
        const char *path;
        bool opened, archive;
    } paths[] = {{"d/k.whl", true, true},  {"k.egg", true, true},    {"k.tar.zst", true, true},
                 {"k.tgz", true, true},    {"k.conda", false, true}, {"k.tar.xz", false, true},
                 {"d/k.rpm", false, true}, {".zip", false, false},   {"k.whl.txt", false, false},
                 {"d.zip/k", false, false}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct ocv_content_facts facts = {0};
        ck_assert_msg(ocv_content_opens(paths[i].path) == paths[i].opened, "%s", paths[i].path);
        ck_assert_int_eq(ocv_content_path(&facts, paths[i].path, 5, NULL), OCV_OK);
        ck_assert_msg(facts.n == paths[i].archive, "%s", paths[i].path);
        ocv_content_facts_free(&facts);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("content");
    TCase *tcase = tcase_create("content");
    tcase_add_loop_test(tcase, test_samples, 0, SAMPLES);
    tcase_add_loop_test(tcase, test_lies, 0, SAMPLES);
    tcase_add_loop_test(tcase, test_wide_lies, 0, SAMPLES);
    tcase_add_test(tcase, test_sections_past_the_end);
    tcase_add_test(tcase, test_as_many_targets_as_a_bundle_may_have);
    tcase_add_test(tcase, test_as_many_sections_as_a_table_has);
    tcase_add_test(tcase, test_as_many_inflations_as_a_file_may_want);
    tcase_add_test(tcase, test_long_file);
    tcase_add_test(tcase, test_note_behind_much_code);
    tcase_add_test(tcase, test_cut_off);
    tcase_add_test(tcase, test_huge_sizes);
    tcase_add_test(tcase, test_a_file_leaves_nothing_behind);
    tcase_add_test(tcase, test_other_files);
    tcase_add_test(tcase, test_paths);
    tcase_add_test(tcase, test_drivers);
    tcase_add_test(tcase, test_merge);
    tcase_add_test(tcase, test_archives_by_their_names);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
