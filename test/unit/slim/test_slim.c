/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Cutting libraries to one target: which code stays, that a real library still loads, and what is
 * left alone. */
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/internal/content/content.h"
#include "lib/internal/slim/slim.h"
#include "test/unit/core_util.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct ocv_slim_target target_of(const char *text)
{
    struct ocv_slim_target target;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_slim_target_parse(text, strlen(text), &target, &err) == OCV_OK, "%s",
                  err.message);
    static int scratch = -1;
    scratch = scratch < 0 ? memfd_create("scratch", MFD_CLOEXEC) : scratch;
    target.scratch = scratch;
    return target;
}

/* A file in memory with these bytes. */
static int file_of(const void *bytes, size_t len)
{
    int fd = memfd_create("slim", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert(ocv_fd_write(fd, bytes, len));
    return fd;
}

/* Cut bytes; the new file's descriptor. */
static int cut(const void *bytes, size_t len, const char *target, struct ocv_slim_result *result)
{
    struct ocv_slim_target t = target_of(target);
    struct ocv_error err = {0};
    ocv_auto_fd int in = file_of(bytes, len);
    int out = memfd_create("cut", MFD_CLOEXEC);
    ck_assert_int_ge(out, 0);
    ck_assert_msg(ocv_slim_file(in, len, out, &t, result, &err) == OCV_OK, "%s", err.message);
    struct stat st;
    ck_assert_int_eq(fstat(out, &st), 0);
    bool written = result->outcome == OCV_SLIM_CUT || result->outcome == OCV_SLIM_ZEROED;
    ck_assert_int_eq(st.st_size, written ? result->after : 0);
    return out;
}

static struct ocv_buffer contents(int fd)
{
    struct ocv_buffer bytes;
    ocv_buffer_init(&bytes, 1 << 24);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(ocv_fd_read(fd, "file", &bytes, NULL), OCV_OK);
    return bytes;
}

/* The linker's own work: test/tools/gpu_library.c. */
static struct ocv_buffer library(const char *name)
{
    char path[512];
    const char *build = getenv("OCV_BUILD");
    struct ocv_buffer bytes;
    struct ocv_error err = {0};
    snprintf(path, sizeof(path), "%s/test/tools/%s", build ? build : "build", name);
    ocv_buffer_init(&bytes, 1 << 24);
    ck_assert_msg(ocv_file_read(path, OCV_FILE_REGULAR, &bytes, &err) == OCV_OK, "%s", err.message);
    return bytes;
}

static char *facts_of(const struct ocv_buffer *bytes)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = {0};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    ck_assert(reader && out);
    ck_assert_int_eq(ocv_content_feed(reader, bytes->data, bytes->len, NULL), OCV_OK);
    ck_assert_int_eq(ocv_content_end(reader, &facts, NULL), OCV_OK);
    for (size_t i = 0; i < facts.n; i++)
        if (facts.list[i].fact == OCV_CONTENT_CUDA_CODE ||
            facts.list[i].fact == OCV_CONTENT_CUDA_PTX || facts.list[i].fact == OCV_CONTENT_CUDA_IR)
            fprintf(out, "%s %s*%lld;", ocv_content_fact_name(facts.list[i].fact) + 5,
                    facts.list[i].value, (long long)facts.list[i].count);
    fclose(out);
    ocv_content_facts_free(&facts);
    ocv_content_reader_free(reader);
    return text;
}

/* One region: kind, architecture and letter of each entry, and which stay. */
static const struct choice {
    const char *has, *target, *keeps;
} choices[] = {
    /* machine code of the major version, the highest that is not above */
    {"c70 c80 c86 c90 p90", "sm_80", "c80"},
    {"c70 c80 c86 c90 p90", "sm_86", "c86"},
    {"c70 c80 c86 c90 p90", "sm_89", "c86"},
    {"c70 c80 c86 c90 p90", "sm_90", "c90"},
    {"c86", "sm_80+sm_86", "c86"},
    /* Tegra's code runs there alone, and nothing else does */
    {"c80 c86 c87 p80", "sm_87", "c87"},
    {"c80 c86 c87 p80", "sm_89", "c86"},
    {"c80 p80", "sm_87", "p80"},
    {"c100f c90 p90", "sm_101", "p90"},
    /* two of one number are both kept */
    {"c80 c80 c70", "sm_80", "c80 c80"},
    {"c90 c90a c80", "sm_90", "c90 c90a"},
    {"c90a c80", "sm_90", "c90a"},
    {"c100 c100f c90", "sm_103", "c100 c100f"},
    {"c100f c103a c90", "sm_103", "c103a"},
    {"c100a c100f c90", "sm_103", "c100f"},
    {"c120f c121a", "sm_120", "c120f"},
    /* `a` runs nowhere else, PTX neither */
    {"c90a p80", "sm_80", "p80"},
    {"p90a p80", "sm_100", "p80"},
    {"p100f p90", "sm_103", "p100f"},
    {"c100f p90", "sm_107", "p90"}, /* that 10.7 is of the family of 10.0 is said nowhere */
    {"p100f p90", "sm_120", "p90"},
    /* the newest PTX that is not above */
    {"c70 p70 p80 p90", "sm_86", "p80"},
    {"c70 p52", "sm_120", "p52"},
    /* of what cannot run the smallest entry */
    {"c90a c120", "sm_80", "c90a"},
    {"p90", "sm_80", "p90"},
    /* what a linker compiles stays */
    {"c70 i70 c80", "sm_80", "i70 c80"},
    {"c70 i75", "sm_80", "i75"},
    /* several targets */
    {"c80 c86 c90 p90", "sm_80+sm_90", "c80 c90"},
    {"c80 c90 p90", "sm_80+sm_120", "c80 p90"},
    {"", "sm_80", ""},
};

static size_t make_region(const char *text, unsigned char *out)
{
    size_t at = 16;
    char copy[256], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", text);
    static const unsigned char head[8] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
    memcpy(out, head, sizeof(head));
    for (char *word; (word = strsep(&rest, " "));) {
        if (!*word)
            continue;
        char *letter;
        unsigned long sm = strtoul(word + 1, &letter, 10);
        size_t size = 8 * (at / 16); /* the first is the smallest */
        memset(out + at, 0, 64 + size);
        out[at] = *word == 'c' ? 2 : *word == 'p' ? 1 : 8;
        out[at + 4] = 64;
        out[at + 8] = (unsigned char)size;
        out[at + 9] = (unsigned char)(size >> 8);
        out[at + 28] = (unsigned char)sm;
        out[at + 42] = *letter == 'a' ? 0x10 : *letter == 'f' ? 0x20 : 0;
        at += 64 + size;
    }
    for (size_t i = 0; i < 8; i++)
        out[8 + i] = (unsigned char)((at - 16) >> (8 * i));
    return at;
}

static char *region_text(const unsigned char *bytes, size_t len)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    ck_assert_ptr_nonnull(out);
    for (size_t at = 16; at < len; at += 64 + (size_t)bytes[at + 8] + ((size_t)bytes[at + 9] << 8))
        fprintf(out, "%s%c%u%s", at > 16 ? " " : "",
                bytes[at] == 2   ? 'c'
                : bytes[at] == 1 ? 'p'
                                 : 'i',
                bytes[at + 28],
                bytes[at + 42] == 0x10   ? "a"
                : bytes[at + 42] == 0x20 ? "f"
                                         : "");
    fclose(out);
    return text;
}

START_TEST(test_what_of_a_region_stays)
{
    const struct choice *it = &choices[_i];
    unsigned char bytes[8192];
    size_t len = make_region(it->has, bytes);
    struct ocv_slim_result result;
    ocv_auto_fd int fd = cut(bytes, len, it->target, &result);
    struct ocv_buffer out = contents(fd);
    if (!strcmp(it->has, it->keeps)) {
        ck_assert_int_eq(result.outcome, OCV_SLIM_NOTHING);
    } else {
        ocv_auto_free char *text = region_text((unsigned char *)out.data, out.len);
        ck_assert_int_eq(result.outcome, OCV_SLIM_CUT);
        ck_assert_msg(!strcmp(text, it->keeps), "%s for %s: %s and not %s", it->has, it->target,
                      text, it->keeps);
    }
    ocv_buffer_free(&out);
}
END_TEST

START_TEST(test_ptx_stays_where_it_is_asked_for)
{
    unsigned char bytes[8192];
    size_t len = make_region("c80 c90 p70 p80 p90", bytes);
    struct ocv_slim_target target = target_of("sm_80");
    struct ocv_slim_result result;
    struct ocv_error err = {0};
    ocv_auto_fd int in = file_of(bytes, len), out = memfd_create("cut", MFD_CLOEXEC);
    target.keep_ptx = true;
    ck_assert_int_eq(ocv_slim_file(in, len, out, &target, &result, &err), OCV_OK);
    struct ocv_buffer cut_bytes = contents(out);
    ocv_auto_free char *text = region_text((unsigned char *)cut_bytes.data, cut_bytes.len);
    ck_assert_str_eq(text, "c80 p80");
    ocv_buffer_free(&cut_bytes);
}
END_TEST

/* What gpu_library has for each target, by the reader of content. */
static const struct {
    const char *target, *facts;
    int by_ptx, without;
} libraries[] = {
    {"sm_80", "code 80*3;code 90a*1;ptx 75*1;ir 75*1;", 1, 1},
    {"sm_86", "code 80*1;code 86*2;code 90a*1;ptx 75*1;ir 75*1;", 1, 1},
    {"sm_90", "code 80*1;code 90*2;code 90a*2;ptx 75*1;ir 75*1;", 1, 1},
    {"sm_120", "code 120*2;ptx 52*1;ptx 75*1;ptx 90*1;ir 75*1;", 3, 0},
    {"sm_80+sm_90", "code 80*3;code 90*2;code 90a*2;ptx 75*1;ir 75*1;", 1, 0},
};

START_TEST(test_a_library_has_the_code_of_its_target_alone)
{
    struct ocv_buffer in = library("gpu_library");
    struct ocv_slim_result result;
    ocv_auto_fd int fd = cut(in.data, in.len, libraries[_i].target, &result);
    struct ocv_buffer out = contents(fd);
    ocv_auto_free char *text = facts_of(&out);
    ck_assert_int_eq(result.outcome, OCV_SLIM_CUT);
    ck_assert_int_eq(result.regions, 5);
    ck_assert_str_eq(text, libraries[_i].facts);
    ck_assert_int_eq(result.by_ptx, libraries[_i].by_ptx);
    ck_assert_int_eq(result.without, libraries[_i].without);
    int64_t removed = 0;
    for (size_t i = 0; i < result.n_removed; i++)
        removed += result.removed[i].bytes;
    /* all of it but the pages at both ends of each section */
    ck_assert_int_ge(result.before - result.after, removed - 4 * 4096 - 2048);
    ck_assert_int_le(result.before - result.after, removed);

    /* what is cut is cut no further */
    ocv_auto_fd int again = cut(out.data, out.len, libraries[_i].target, &result);
    ck_assert_int_eq(result.outcome, OCV_SLIM_NOTHING);
    (void)again;
    ocv_buffer_free(&in);
    ocv_buffer_free(&out);
}
END_TEST

struct wrapper {
    unsigned magic, version;
    const unsigned char *code;
    void *other;
};

/* The loader maps it, its constructor runs, and each wrapper leads to its code. */
START_TEST(test_a_cut_library_loads)
{
    struct ocv_buffer in = library("gpu_library");
    struct ocv_slim_result result;
    char path[64];
    ocv_auto_fd int fd = cut(in.data, in.len, "sm_80", &result);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    const struct wrapper *wrappers = dlsym(handle, "gpu_wrappers");
    int (*answer)(int) = (int (*)(int))dlsym(handle, "gpu_answer");
    const char *(*loaded)(void) = (const char *(*)(void))dlsym(handle, "gpu_loaded");
    ck_assert(wrappers && answer && loaded);
    ck_assert_int_eq(answer(41), 42);
    ck_assert_ptr_eq(loaded(), wrappers[1].code);
    /* the first byte of code that is left of each: 80, 80, 90a, PTX of 75, 80 */
    static const unsigned char first[] = {1, 6, 9, 12, 20};
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(wrappers[i].magic, 0x466243b1);
        ck_assert_mem_eq(wrappers[i].code, "\x50\xed\x55\xba", 4);
        ck_assert_uint_eq(wrappers[i].code[16 + 64], first[i]);
        ck_assert_uint_eq(wrappers[i].code[16 + 64 + 8191], first[i]);
    }
    ck_assert_ptr_eq(wrappers[3].other, wrappers);
    dlclose(handle);
    ocv_buffer_free(&in);
}
END_TEST

static void check_left(const struct ocv_buffer *bytes, const char *why)
{
    struct ocv_slim_result result;
    ocv_auto_fd int fd = cut(bytes->data, bytes->len, "sm_80", &result);
    (void)fd;
    ck_assert_int_eq(result.outcome, OCV_SLIM_LEFT);
    ck_assert_str_eq(result.why, why);
    ck_assert_int_eq(result.after, result.before);
}

START_TEST(test_another_pointer_leaves_a_library_alone)
{
    struct ocv_buffer in = library("gpu_library_stray");
    check_left(&in, "something leads to its device code that is no wrapper of a fat binary");
    ocv_buffer_free(&in);
}
END_TEST

START_TEST(test_code_that_finds_a_fat_binary_by_itself_leaves_a_library_alone)
{
    struct ocv_buffer in = library("gpu_library_unwrapped");
    check_left(&in, "its code may lead to a fat binary without a wrapper");
    ocv_buffer_free(&in);
#ifdef __x86_64__
    in = library("gpu_library_taken");
    check_left(&in, "its code takes the address of a fat binary");
    ocv_buffer_free(&in);
#endif
}
END_TEST

/* Where something of a library is changed, and why it is left alone then. */
static const struct {
    const char *find; /* these four bytes */
    size_t at;        /* from there */
    unsigned char byte;
    const char *why;
} changes[] = {
    {"\xb1\x43\x62\x46", 0, 0,
     "something leads to its device code that is no wrapper of a fat binary"},
    {"\x50\xed\x55\xba", 0, 1, "its device code is of a form that is not known"},
    {"\x50\xed\x55\xba", 4, 2, "its device code is of a form that is not known"},
    {"\x50\xed\x55\xba", 16, 3, "it has code of a kind that is not known"},
    {"\x50\xed\x55\xba", 20, 8, "a fat binary in it is malformed"},
    {"\x50\xed\x55\xba", 27, 1, "a fat binary in it is malformed"},
};

START_TEST(test_what_is_not_understood_is_left_alone)
{
    struct ocv_buffer in = library("gpu_library");
    unsigned char *at = memmem(in.data, in.len, changes[_i].find, 4);
    ck_assert_ptr_nonnull(at);
    at[changes[_i].at] = changes[_i].byte;
    check_left(&in, changes[_i].why);
    ocv_buffer_free(&in);
}
END_TEST

/* patchelf puts program headers where there is room, here at the end of the file. */
START_TEST(test_program_headers_at_the_end)
{
    struct ocv_buffer in = library("gpu_library");
    struct ocv_slim_result result;
    Elf64_Ehdr header;
    memcpy(&header, in.data, sizeof(header));
    size_t len = header.e_phnum * sizeof(Elf64_Phdr);
    char *headers = malloc(len);
    ck_assert_ptr_nonnull(headers);
    memcpy(headers, in.data + header.e_phoff, len);
    header.e_phoff = in.len;
    ck_assert_int_eq(ocv_buffer_append(&in, headers, len, NULL), OCV_OK);
    memcpy(in.data, &header, sizeof(header));
    ocv_auto_fd int fd = cut(in.data, in.len, "sm_80", &result);
    struct ocv_buffer out = contents(fd);
    ck_assert_int_eq(result.outcome, OCV_SLIM_CUT);
    memcpy(&header, out.data, sizeof(header));
    ck_assert_uint_lt(header.e_phoff, in.len);
    free(headers);
    ocv_buffer_free(&in);
    ocv_buffer_free(&out);
}
END_TEST

/* No memory is read that is not the file's, and what is written is a library. */
START_TEST(test_a_library_that_is_cut_off)
{
    struct ocv_buffer in = library("gpu_library");
    struct ocv_slim_result result;
    for (size_t len = 0; len < in.len; len += len < 256 ? 1 : 997) {
        ocv_auto_fd int fd = cut(in.data, len, "sm_80", &result);
        (void)fd;
        ck_assert_msg(result.outcome == OCV_SLIM_NOTHING || result.outcome == OCV_SLIM_LEFT,
                      "%zu bytes", len);
    }
    ocv_buffer_free(&in);
}
END_TEST

START_TEST(test_a_file_of_another_kind)
{
    struct ocv_slim_result result;
    static const char text[] = "#!/bin/sh\nexit 0 # and more of it\n";
    ocv_auto_fd int fd = cut(text, sizeof(text) - 1, "sm_80", &result);
    (void)fd;
    ck_assert_int_eq(result.outcome, OCV_SLIM_NOTHING);
    ck_assert_ptr_null(result.why);
}
END_TEST

static const struct {
    const char *text, *label; /* NULL: refused */
} targets[] = {
    {"sm_80", "sm80"},   {"sm_90a", "sm90"}, {"sm_86+sm_80+sm_86", "sm80_sm86"},
    {"sm_120", "sm120"}, {"sm_8", NULL},     {"sm_80f", NULL},
    {"sm_80+", NULL},    {"+sm_80", NULL},   {"80", NULL},
    {"SM_80", NULL},     {"sm_1000", NULL},  {"", NULL},
};

START_TEST(test_targets)
{
    struct ocv_slim_target target;
    struct ocv_error err = {0};
    char label[OCV_SLIM_LABEL_MAX];
    const char *text = targets[_i].text;
    int status = ocv_slim_target_parse(text, strlen(text), &target, &err);
    if (targets[_i].label) {
        ck_assert_int_eq(status, OCV_OK);
        ck_assert_str_eq(ocv_slim_target_label(&target, label, sizeof(label)), targets[_i].label);
    } else {
        ck_assert_int_eq(status, OCV_ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(err.hint, "sm_80"));
    }
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof((list)[0]))

TEST_FILE
{
    Suite *suite = suite_create("slim");
    TCase *tcase = tcase_create("slim");
    tcase_add_loop_test(tcase, test_what_of_a_region_stays, 0, N(choices));
    tcase_add_test(tcase, test_ptx_stays_where_it_is_asked_for);
    tcase_add_loop_test(tcase, test_a_library_has_the_code_of_its_target_alone, 0, N(libraries));
    tcase_add_test(tcase, test_a_cut_library_loads);
    tcase_add_test(tcase, test_another_pointer_leaves_a_library_alone);
    tcase_add_test(tcase, test_code_that_finds_a_fat_binary_by_itself_leaves_a_library_alone);
    tcase_add_loop_test(tcase, test_what_is_not_understood_is_left_alone, 0, N(changes));
    tcase_add_test(tcase, test_program_headers_at_the_end);
    tcase_add_test(tcase, test_a_library_that_is_cut_off);
    tcase_add_test(tcase, test_a_file_of_another_kind);
    tcase_add_loop_test(tcase, test_targets, 0, N(targets));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
