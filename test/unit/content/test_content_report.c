/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reports of content: kept and read again, stacked as layers are, and what they mean. */
#include "lib/internal/content/content.h"
#include "lib/internal/content/derived.h"
#include "test/unit/content/content_util.h"

#include <stdlib.h>
#include <string.h>

/* Add a sample under a path, as content-scan does. */
static void add(struct ocv_content_report *report, const char *path, const char *name)
{
    struct ocv_error err = {0};
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_buffer bytes = sample(name);
    struct ocv_content_facts facts = read_chunks(reader, bytes.data, bytes.len, bytes.len, false);
    ck_assert_int_eq(ocv_content_path(&facts, path, (int64_t)bytes.len, &err), OCV_OK);
    ck_assert_int_eq(ocv_content_report_file(report, path, (int64_t)bytes.len, &facts, &err),
                     OCV_OK);
    ocv_content_facts_free(&facts);
    ocv_buffer_free(&bytes);
    ocv_content_reader_free(reader);
}

static void add_plain(struct ocv_content_report *report, const char *path)
{
    struct ocv_content_facts none = {0};
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_content_report_file(report, path, 1, &none, &err), OCV_OK);
}

static void add_whiteout(struct ocv_content_report *report, const char *path, int wanted)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_content_report_whiteout(report, path, &err), wanted);
}

/* Written and read again: the same bytes once more. */
static void reread(struct ocv_content_report *report)
{
    struct ocv_error err = {0};
    ocv_auto_buffer first, second;
    ocv_buffer_init(&first, 1 << 20);
    ocv_buffer_init(&second, 1 << 20);
    ck_assert_int_eq(ocv_content_report_write(report, &first, &err), OCV_OK);
    ocv_content_report_free(report);
    *report = (struct ocv_content_report){0};
    ck_assert_msg(ocv_content_report_read(first.data, first.len, report, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_int_eq(ocv_content_report_write(report, &second, &err), OCV_OK);
    ck_assert_str_eq(first.data, second.data);
}

static void stack(struct ocv_content_report *below, struct ocv_content_report *upper)
{
    struct ocv_error err = {0};
    reread(upper);
    ck_assert_int_eq(ocv_content_report_stack(below, upper, &err), OCV_OK);
    ocv_content_report_free(upper);
    *upper = (struct ocv_content_report){0};
}

/* "PATH PATH" of the files with facts. */
static char *paths(struct ocv_content_report *report)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    ocv_content_report_sort(report);
    for (size_t i = 0; i < report->n_files; i++)
        fprintf(out, "%s%s", i ? " " : "", report->files[i].path);
    fclose(out);
    return text;
}

static void has_paths(struct ocv_content_report *report, const char *wanted)
{
    char *text = paths(report);
    ck_assert_str_eq(text, wanted);
    free(text);
}

START_TEST(test_layers_hide_what_is_below)
{
    struct ocv_content_report image = {0}, layer = {0};
    add(&layer, "a/cuda.so", "cuda.so");
    add(&layer, "b/hip.so", "hip.so");
    add(&layer, "c/d/cuda.so", "cuda.so");
    add(&layer, "e/cuda.so", "cuda.so");
    stack(&image, &layer);
    has_paths(&image, "a/cuda.so b/hip.so c/d/cuda.so e/cuda.so");

    add_whiteout(&layer, "a/.wh.cuda.so", 1); /* a file */
    add_whiteout(&layer, "c/.wh.d", 1);       /* a directory with all below it */
    add_whiteout(&layer, "e/.wh..wh..opq", 1);
    add_whiteout(&layer, "e/plain", 0);
    add(&layer, "e/hip.so", "hip.so"); /* of the same layer: seen, though the directory is opaque */
    add_plain(&layer, "b/hip.so");     /* in its place something that says nothing */
    stack(&image, &layer);
    has_paths(&image, "e/hip.so");
    ocv_content_report_free(&image);
}
END_TEST

START_TEST(test_a_whiteout_hides_no_namesake)
{
    struct ocv_content_report image = {0}, layer = {0};
    add(&layer, "lib/k.so", "cuda.so");
    add(&layer, "lib/k.so.1", "cuda.so");
    stack(&image, &layer);
    add_whiteout(&layer, "lib/.wh.k.so", 1);
    stack(&image, &layer);
    has_paths(&image, "lib/k.so.1");
    ocv_content_report_free(&image);
}
END_TEST

START_TEST(test_a_file_hides_the_directory_that_it_replaces)
{
    struct ocv_content_report image = {0}, layer = {0};
    add(&layer, "a/b/cuda.so", "cuda.so");
    add(&layer, "a/b2/cuda.so", "cuda.so");
    add(&layer, "c/d/cuda.so", "cuda.so");
    stack(&image, &layer);
    add(&layer, "a/b", "hip.so"); /* one that says something */
    add_plain(&layer, "c");       /* and one that does not */
    stack(&image, &layer);
    has_paths(&image, "a/b a/b2/cuda.so");
    ocv_content_report_free(&image);
}
END_TEST

static const char *const malformed[] = {
    "",
    "[]",
    "{}",
    "{\"schema\": \"dev.ocivariant.content/v2\", \"files\": []}",
    "{\"schema\": \"dev.ocivariant.content/v1\"}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{}]}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{\"path\": \"a\", \"size\": -1, "
    "\"facts\": [{\"fact\": \"needed\", \"value\": \"b\"}]}]}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{\"path\": \"a\", \"size\": 1, "
    "\"facts\": []}]}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{\"path\": \"a\", \"size\": 1, "
    "\"facts\": [{\"fact\": \"no-such\", \"value\": \"b\"}]}]}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [], \"others\": \"AAA=\"}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [], \"removed\": [1]}",
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [], \"members\": -1}",
};

START_TEST(test_what_is_not_as_written_is_refused)
{
    struct ocv_content_report report = {0};
    struct ocv_error err = {0};
    const char *text = malformed[_i];
    ck_assert_int_eq(ocv_content_report_read(text, strlen(text), &report, &err), OCV_ERR_DATA);
    ck_assert_uint_eq(report.n_files, 0);
}
END_TEST

/* "NS :: F :: V; ..." that are proposed. */
static char *properties(const struct ocv_content_derived *d)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i < d->n_properties; i++)
        fprintf(out, "%s;", d->properties[i]);
    fclose(out);
    return text;
}

static const struct meaning {
    const char *samples[4], *properties, *label;
} meanings[] = {
    {{"cuda.so"},
     "nvidia :: sm_arch :: 80_real;nvidia :: sm_arch :: 90a_real;nvidia :: sm_arch :: 100f_real;"
     "nvidia :: sm_arch :: 120_virtual;nvidia :: cuda_version_lower_bound :: 12.8;"
     "x86_64 :: level :: v3;",
     "cu12"},
    {{"hip.so"}, "amd :: gfx_arch :: gfx90a;amd :: gfx_arch :: gfx942;", "rocm7"},
    /* code for sm_80 runs on 8.6, that for sm_86 on no 8.0 */
    {{"cuda.fatbin", "sm_86.cubin"}, "nvidia :: sm_arch :: 86_real;", ""},
    /* a file without any function does not count */
    {{"sm_86.cubin", "empty.so"}, "nvidia :: sm_arch :: 86_real;", ""},
    {{"empty.so"}, "", ""},
    /* what is for 9.0 alone runs on all that is 9.0 */
    {{"sm_90.cubin", "sm_90a.cubin"},
     "nvidia :: sm_arch :: 90_real;nvidia :: sm_arch :: 90a_real;",
     ""},
    {{"sm_100.cubin", "sm_100a.cubin"}, "nvidia :: sm_arch :: 100a_real;", ""},
    {{"sm_90a.cubin"}, "nvidia :: sm_arch :: 90a_real;", ""},
    /* gfx90a is in one of the two only */
    {{"hip.so", "gfx942.hsaco"}, "amd :: gfx_arch :: gfx942;", "rocm7"},
    {{"sycl.so"}, "", ""},
    {{"compat.so"}, "", ""},
};

START_TEST(test_properties_are_what_all_files_run_on)
{
    const struct meaning *m = &meanings[_i];
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    char path[32];
    for (size_t i = 0; m->samples[i]; i++) {
        snprintf(path, sizeof(path), "%zu.so", i);
        add(&report, path, m->samples[i]);
    }
    ck_assert_int_eq(ocv_content_derive(&report, NULL, &derived, &err), OCV_OK);
    char *text = properties(&derived);
    ck_assert_str_eq(text, m->properties);
    ck_assert_str_eq(derived.label, m->label);
    free(text);
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

/* What a file has, as reports write it. */
#define FACT(name, value) "{\"fact\": \"" name "\", \"value\": \"" value "\", \"bytes\": 1}"
#define CODE(sm) FACT("cuda-code", sm)
#define PTX(sm, version) FACT("cuda-ptx", sm) "," FACT("ptx-version", version)
#define CUDART(major) FACT("needed", "libcudart.so." major)
#define SM "nvidia :: sm_arch :: "
#define FROM "nvidia :: cuda_version_lower_bound :: "

/* Where the toolkit is known: which drivers run machine code of it, and which its PTX. */
static const struct drivers {
    const char *first, *second; /* facts of two files */
    const char *cuda, *given, *properties, *base;
} drivers[] = {
    /* machine code for every device: any driver of the major version works, best the toolkit's */
    {CODE("80") "," CODE("90") "," CUDART("12"), CODE("80") "," CODE("90"), "12.8", NULL,
     SM "80_real;" SM "90_real;" FROM "12.8;" FROM "12.0;", ""},
    /* nothing is stated: as the files say */
    {CODE("80") "," CUDART("12"), CODE("80"), NULL, NULL, SM "80_real;" FROM "12;", ""},
    /* PTX of that toolkit is for drivers that know it, beside it the rest for older ones */
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"), CODE("80") "," PTX("90", "8.4"), "12.8",
     NULL, SM "80_real;" SM "90_virtual;" FROM "12.8;", SM "80_real;" FROM "12.0;"},
    /* machine code in one of two files is not enough */
    {CODE("80") "," CODE("90") "," CUDART("12"), CODE("80") "," PTX("90", "8.7"), "12.8", NULL,
     SM "80_real;" SM "90_real;" FROM "12.8;", SM "80_real;" FROM "12.0;"},
    {PTX("80", "8.7") "," CUDART("12"), CODE("80"), "12.8", NULL, SM "80_real;" FROM "12.8;", ""},
    /* code that is compressed with zstd: not on drivers before 12.4, whatever the rest is */
    {CODE("80") "," FACT("cuda-zstd", "80") "," CUDART("12"), CODE("80"), "12.8", NULL,
     SM "80_real;" FROM "12.8;" FROM "12.4;", ""},
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"),
     CODE("80") "," PTX("90", "8.7") "," FACT("cuda-zstd", "90"), "12.8", NULL,
     SM "80_real;" SM "90_virtual;" FROM "12.8;", SM "80_real;" FROM "12.4;"},
    {CODE("80") "," FACT("cuda-zstd", "80") "," CUDART("12"), CODE("80"), NULL, NULL,
     SM "80_real;" FROM "12.4;", ""},
    {CODE("80") "," FACT("cuda-zstd", "80") "," CUDART("13"), CODE("80"), "13.0", NULL,
     SM "80_real;" FROM "13.0;", ""},
    /* PTX alone */
    {PTX("80", "8.7") "," CUDART("12"), PTX("80", "8.7"), "12.8", NULL,
     SM "80_virtual;" FROM "12.8;", ""},
    /* PTX that every driver of the major version knows; of a version that nobody knows */
    {CODE("80") "," PTX("90", "8.0") "," CUDART("12"), PTX("80", "7.8"), "12.8", NULL,
     SM "80_real;" SM "90_virtual;" FROM "12.8;" FROM "12.0;", ""},
    {CODE("80") "," FACT("cuda-ptx", "80") "," CUDART("12"), CODE("80"), "12.8", NULL,
     SM "80_real;" FROM "12.8;" FROM "12.0;", ""},
    {CODE("80") "," FACT("cuda-ptx", "80") "," CUDART("12"), CODE("80") "," PTX("80", "99.9"),
     "12.8", NULL, SM "80_real;" SM "80_virtual;" FROM "12.8;", SM "80_real;" FROM "12.0;"},
    /* what wrote the PTX is known without a configuration, too */
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"), CODE("80") "," PTX("90", "8.4"), NULL, NULL,
     SM "80_real;" SM "90_virtual;" FROM "12.8;", SM "80_real;" FROM "12.0;"},
    {CODE("80") "," PTX("90", "9.0") "," CUDART("12"), PTX("80", "9.0"), NULL, NULL,
     SM "80_real;" SM "90_virtual;" FROM "12;", ""},
    /* the major's first version is one value; CUDA before 11 makes no such promise */
    {CODE("80") "," CUDART("12"), CODE("80"), "12.0", NULL, SM "80_real;" FROM "12.0;", ""},
    {CODE("80") "," CUDART("11.0"), CODE("80"), "11.1", NULL,
     SM "80_real;" FROM "11.1;" FROM "11.0;", ""},
    {CODE("70") "," CUDART("10.2"), CODE("70"), "10.2", NULL, SM "70_real;" FROM "10.2;", ""},
    /* a base of another major version does not say what the files were built with */
    {CODE("80") "," CUDART("12"), CODE("80"), "13.0", NULL, SM "80_real;" FROM "12;", ""},
    /* a runtime that is linked in leaves no name */
    {CODE("80"), CODE("80"), "12.8", NULL, SM "80_real;" FROM "12.8;" FROM "12.0;", ""},
    {CODE("80"), CODE("80"), NULL, NULL, SM "80_real;", ""},
    {FACT("needed", "libc.so.6"), FACT("glibc", "2.34"), "12.8", NULL, "", ""},
    /* different major versions */
    {CODE("80") "," CUDART("12"), CODE("80") "," CUDART("13"), "12.8", NULL, SM "80_real;", ""},
    /* devices that are written by hand decide; of versions, nothing is made beside them */
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"), CODE("80") "," PTX("90", "8.7"), "12.8",
     "80_real", SM "80_real;" SM "90_virtual;" FROM "12.8;" FROM "12.0;", ""},
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"), CODE("80") "," PTX("90", "8.7"), "12.8",
     "120_virtual", SM "80_real;" SM "90_virtual;" FROM "12.8;", ""},
    {CODE("80") "," PTX("90", "8.7") "," CUDART("12"), CODE("80") "," PTX("90", "8.7"), "12.8",
     "version", SM "80_real;" SM "90_virtual;" FROM "12.8;", ""},
};

static void read_two(const char *first, const char *second, struct ocv_content_report *report)
{
    char *text;
    struct ocv_error err = {0};
    int n = asprintf(&text,
                     "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": ["
                     "{\"path\": \"a\", \"size\": 9, \"facts\": [%s]},"
                     "{\"path\": \"b\", \"size\": 9, \"facts\": [%s]}]}",
                     first, second);
    ck_assert_int_gt(n, 0);
    ck_assert_msg(ocv_content_report_read(text, (size_t)n, report, &err) == OCV_OK, "%s",
                  err.message);
    free(text);
}

static char *joined(char *const *list, size_t n)
{
    const struct ocv_content_derived d = {.properties = (char **)(uintptr_t)list,
                                          .n_properties = n};
    return properties(&d);
}

START_TEST(test_the_drivers_are_those_that_run_the_code)
{
    const struct drivers *m = &drivers[_i];
    bool version = m->given && !strcmp(m->given, "version");
    const struct ocv_property given[] = {
        {"x86_64", "level", "v2"},
        {"nvidia", version ? "cuda_version_lower_bound" : "sm_arch", version ? "12.1" : m->given}};
    const struct ocv_content_told told = {
        .cuda = m->cuda, .given = m->given ? given : NULL, .n_given = m->given ? 2 : 0};
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    read_two(m->first, m->second, &report);
    ck_assert_int_eq(ocv_content_derive(&report, &told, &derived, &err), OCV_OK);
    char *all = properties(&derived), *base = joined(derived.base, derived.n_base);
    ck_assert_str_eq(all, m->properties);
    ck_assert_str_eq(base, m->base);
    free(all);
    free(base);
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

/* Libraries of other makers do not show the chip, and a compiler that runs with the program none
 * either: they are named, and nothing is claimed. */
START_TEST(test_libraries_of_others_are_named)
{
    static const char *const libraries[][3] = {
        {"libze_loader.so.1", "Intel Level Zero", "1"},
        {"libsycl.so.8", "Intel SYCL", "8"},
        {"libascendcl.so", "Ascend CANN", ""},
        {"libSynapse.so", "Habana SynapseAI", ""},
        {"librbln.so.2", "Rebellions", "2"},
        {"libfuriosa.so.0", "Furiosa", "0"},
        {"libnrt.so.1", "AWS Neuron", "1"},
        {"libtpu.so", "Google TPU", ""},
        {"libcuda.so.1", "CUDA driver", "1"},
        {"libhiprtc.so.7", "ROCm, compiled at run time (hipRTC)", "7"},
        {"libnvrtc.so.12", "CUDA, compiled at run time (NVRTC)", "12"},
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        struct ocv_content_report report = {0};
        struct ocv_content_derived derived = {0};
        char fact[128];
        snprintf(fact, sizeof(fact), "{\"fact\": \"needed\", \"value\": \"%s\"}", libraries[i][0]);
        read_two(fact, FACT("needed", "libcudart_static.so.12"), &report);
        ck_assert_int_eq(ocv_content_derive(&report, NULL, &derived, NULL), OCV_OK);
        ck_assert_uint_eq(derived.n_needs, 1);
        ck_assert_str_eq(derived.needs[0].name, libraries[i][0]);
        ck_assert_str_eq(derived.needs[0].is, libraries[i][1]);
        ck_assert_str_eq(derived.needs[0].version, libraries[i][2]);
        ck_assert_str_eq(derived.needs[0].path, "a");
        ck_assert_uint_eq(derived.n_properties, 0);
        ocv_content_derived_free(&derived);
        ocv_content_report_free(&report);
    }
}
END_TEST

/* Of devices that are written by hand the second entry has those with machine code alone. */
START_TEST(test_a_second_entry_keeps_what_is_written_by_hand)
{
    static const struct ocv_property given[] = {{"nvidia", "sm_arch", "90_virtual"},
                                                {"nvidia", "sm_arch", "80_real"}};
    const struct ocv_content_told told = {.cuda = "12.8", .given = given, .n_given = 2};
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    read_two(
        CODE("80") "," CODE("86") "," PTX("90", "8.7") "," CUDART("12") "," FACT("x86-level", "3"),
        CODE("80") "," PTX("90", "8.7"), &report);
    ck_assert_int_eq(ocv_content_derive(&report, &told, &derived, &err), OCV_OK);
    char *base = joined(derived.base, derived.n_base);
    ck_assert_str_eq(base, SM "80_real;" FROM "12.0;x86_64 :: level :: v3;");
    free(base);
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

START_TEST(test_a_target_that_a_file_lacks_names_the_file)
{
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    char setting[128];
    add(&report, "a/hip.so", "hip.so");
    add(&report, "b/only.hsaco", "gfx942.hsaco");
    ck_assert_int_eq(ocv_content_derive(&report, NULL, &derived, &err), OCV_OK);
    const struct ocv_content_target *it = &derived.targets[0];
    ck_assert_str_eq(it->value, "gfx90a");
    ck_assert_uint_eq(it->lacking, 1);
    ck_assert_str_eq(it->without, "b/only.hsaco");
    ck_assert(!it->proposed);
    ck_assert(ocv_content_setting(it, 0, setting, sizeof(setting)));
    ck_assert_str_eq(setting, "PYTORCH_ROCM_ARCH=gfx90a");
    ck_assert(!ocv_content_setting(it, 1, setting, sizeof(setting)));
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

/* Files that are named for a GPU each: the library opens the one that it needs. */
static const struct sets {
    const char *paths[6]; /* the first is hip.so, with code for gfx90a and gfx942 */
    const char *properties, *without;
    enum ocv_content_keeping gfx90a, gfx1100;
} sets[] = {
    {{"opt/libx.so", "opt/library/T_gfx90a.co", "opt/library/T_gfx942.co",
      "opt/library/T_gfx942.dat", "opt/library/T_gfx1100.co"},
     "amd :: gfx_arch :: gfx90a;amd :: gfx_arch :: gfx942;",
     "opt/libx.so",
     OCV_CONTENT_KEPT,
     OCV_CONTENT_PARTLY},
    {{"opt/libx.so", "opt/library/gfx90a/T_gfx90a.co", "opt/library/gfx942/T_gfx942.co",
      "opt/library/gfx942/U_gfx942.co"},
     "amd :: gfx_arch :: gfx90a;amd :: gfx_arch :: gfx942;",
     NULL,
     OCV_CONTENT_KEPT,
     OCV_CONTENT_BROKEN},
    /* of two such libraries one has no code for gfx90a */
    {{"opt/libx.so", "opt/a/T_gfx90a.co", "opt/a/T_gfx942.co", "opt/b/gfx942.kdb"},
     "amd :: gfx_arch :: gfx942;",
     "opt/b/gfx942.kdb",
     OCV_CONTENT_PARTLY,
     OCV_CONTENT_BROKEN},
};

START_TEST(test_a_library_with_a_file_for_each_gpu)
{
    const struct sets *m = &sets[_i];
    struct ocv_content content = {0};
    struct ocv_error err = {0};
    struct ocv_content_evidence claim;
    add(&content.report, m->paths[0], "hip.so");
    for (size_t i = 1; m->paths[i]; i++) {
        struct ocv_content_facts facts = {0};
        ck_assert_int_eq(ocv_content_path(&facts, m->paths[i], 5, &err), OCV_OK);
        ck_assert_int_eq(ocv_content_report_file(&content.report, m->paths[i], 5, &facts, &err),
                         OCV_OK);
    }
    ck_assert_int_eq(ocv_content_derive(&content.report, NULL, &content.derived, &err), OCV_OK);
    char *text = properties(&content.derived);
    ck_assert_str_eq(text, m->properties);
    free(text);
    const char *without = NULL;
    for (size_t i = 0; i < content.derived.n_targets; i++)
        if (content.derived.targets[i].lacking) {
            ck_assert_uint_eq(content.derived.targets[i].lacking, 1);
            without = content.derived.targets[i].without;
        }
    ck_assert_pstr_eq(without, m->without);
    ocv_content_check(&content, (struct ocv_property){"amd", "gfx_arch", "gfx90a"}, &claim);
    ck_assert_int_eq(claim.keeping, m->gfx90a);
    ocv_content_check(&content, (struct ocv_property){"amd", "gfx_arch", "gfx1100"}, &claim);
    ck_assert_int_eq(claim.keeping, m->gfx1100);
    ocv_content_free(&content);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("content_report");
    TCase *tcase = tcase_create("content_report");
    tcase_add_test(tcase, test_layers_hide_what_is_below);
    tcase_add_test(tcase, test_a_whiteout_hides_no_namesake);
    tcase_add_test(tcase, test_a_file_hides_the_directory_that_it_replaces);
    tcase_add_loop_test(tcase, test_what_is_not_as_written_is_refused, 0,
                        sizeof(malformed) / sizeof(malformed[0]));
    tcase_add_loop_test(tcase, test_properties_are_what_all_files_run_on, 0,
                        sizeof(meanings) / sizeof(meanings[0]));
    tcase_add_loop_test(tcase, test_the_drivers_are_those_that_run_the_code, 0,
                        sizeof(drivers) / sizeof(drivers[0]));
    tcase_add_test(tcase, test_libraries_of_others_are_named);
    tcase_add_test(tcase, test_a_second_entry_keeps_what_is_written_by_hand);
    tcase_add_test(tcase, test_a_target_that_a_file_lacks_names_the_file);
    tcase_add_loop_test(tcase, test_a_library_with_a_file_for_each_gpu, 0,
                        sizeof(sets) / sizeof(sets[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
