/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Cutting offload bundles to one target, plain and compressed. */
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/internal/slim/slim.h"
#include "test/unit/core_util.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define ROOM ((size_t)1 << 20)

/* How a bundle lies in a file: version of CCOB (0: not compressed), and zstd or zlib. */
static const struct form {
    unsigned version;
    bool zstd;
} forms[] = {{0, false}, {2, false}, {2, true}, {3, false}, {3, true}};

/* What it has, by the end of each target's name, and what stays for a target. */
static const struct choice {
    const char *has, *target, *keeps;
} choices[] = {
    {"host gfx90a gfx942 gfx1100", "gfx942", "host gfx942"},
    {"host gfx90a gfx942 gfx1100", "gfx90a+gfx1100", "host gfx90a gfx1100"},
    {"host gfx90a gfx942", "gfx90a+gfx942", "host gfx90a gfx942"},
    /* whatever the process does about page faults and memory errors */
    {"host gfx90a:xnack+ gfx90a:xnack- gfx942", "gfx90a", "host gfx90a:xnack+ gfx90a:xnack-"},
    {"host gfx942:sramecc+:xnack- gfx90a", "gfx942", "host gfx942:sramecc+:xnack-"},
    /* generic code of the generation */
    {"host gfx9-4-generic gfx11-generic", "gfx942", "host gfx9-4-generic"},
    {"host gfx9-4-generic gfx942 gfx1100", "gfx942", "host gfx9-4-generic gfx942"},
    {"host gfx10-3-generic gfx11-generic", "gfx1101", "host gfx11-generic"},
    {"host gfx11-generic gfx12-generic:xnack-", "gfx1201", "host gfx12-generic:xnack-"},
    /* a name that another one begins with */
    {"host gfx1100 gfx1101 gfx110", "gfx1100", "host gfx1100"},
    /* SPIR-V is compiled where there is no machine code */
    {"host gfx942 spirv", "gfx942", "host gfx942"},
    /* a generic target may not cover it, and a process may have no such feature */
    {"host gfx9-generic spirv gfx1100", "gfx90a", "host gfx9-generic spirv"},
    {"host gfx90a:xnack+ spirv gfx1100", "gfx90a", "host gfx90a:xnack+ spirv"},
    {"host gfx942 spirv", "gfx1100", "host spirv"},
    /* of what cannot run the smallest: the first */
    {"host gfx90a gfx942 spirv", "sm_80", "host gfx90a"},
    {"host gfx90a gfx942", "gfx1201", "host gfx90a"},
    {"gfx90a gfx942", "gfx942", "gfx942"},
    {"host", "gfx942", "host"},
};

static const char *full_name(const char *word, char out[128])
{
    snprintf(out, 128, "%s%s",
             !strcmp(word, "host")    ? "host-x86_64-unknown-linux-gnu-"
             : !strcmp(word, "spirv") ? "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv"
                                      : "hipv4-amdgcn-amd-amdhsa--",
             !strcmp(word, "host") || !strcmp(word, "spirv") ? "" : word);
    return out;
}

static void put(unsigned char *p, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

static uint64_t sum_of(const unsigned char *bytes, size_t len)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    ck_assert_int_eq(EVP_Digest(bytes, len, sum, NULL, EVP_md5(), NULL), 1);
    return get(sum, 8);
}

/* Each has pages of its own: the first letter of its name, as many as it comes late. */
static size_t make_plain(const char *has, unsigned char *out)
{
    char copy[256], *rest = copy, name[128];
    size_t at = 32, code = 4096, n = 0;
    snprintf(copy, sizeof(copy), "%s", has);
    memcpy(out, MAGIC, 24);
    for (char *word; (word = strsep(&rest, " ")); n++) {
        bool host = !strcmp(word, "host");
        size_t len = strlen(full_name(word, name)), size = host ? 0 : 5000 + n * 100;
        put(out + at, code, 8);
        put(out + at + 8, size, 8);
        put(out + at + 16, len, 8);
        memcpy(out + at + 24, name, len);
        memset(out + code, (int)n + 1, size);
        at += 24 + len;
        code += host ? 0 : 8192;
        if (!rest)
            code = host ? code : code - 8192 + size;
    }
    put(out + 24, n, 8);
    return code;
}

static size_t make_bundle(const struct form *form, const char *has, unsigned char *out)
{
    if (!form->version)
        return make_plain(has, out);
    ocv_auto_free unsigned char *plain = calloc(1, ROOM);
    size_t inflated = make_plain(has, plain), header = form->version == 2 ? 24 : 32;
    unsigned long deflated = ROOM - header;
    if (form->zstd)
        deflated = ZSTD_compress(out + header, ROOM - header, plain, inflated, 3);
    else
        ck_assert_int_eq(compress(out + header, &deflated, plain, inflated), Z_OK);
    memcpy(out, "CCOB", 4);
    put(out + 4, form->version, 2);
    put(out + 6, form->zstd, 2);
    put(out + 8, header + deflated, form->version == 2 ? 4 : 8);
    put(out + (form->version == 2 ? 12 : 16), inflated, form->version == 2 ? 4 : 8);
    put(out + header - 8, sum_of(plain, inflated), 8);
    return header + deflated;
}

/* Its names, after looking at everything that the format says. */
static char *read_bundle(const struct form *form, const unsigned char *bytes, size_t len)
{
    ocv_auto_free unsigned char *plain = calloc(1, ROOM);
    char *text = NULL;
    size_t n, header = form->version == 2 ? 24 : 32;
    unsigned long inflated = ROOM;
    FILE *out = open_memstream(&text, &n);
    ck_assert(plain && out);
    if (form->version) {
        ck_assert_mem_eq(bytes, "CCOB", 4);
        ck_assert_uint_eq(get(bytes + 4, 2), form->version);
        ck_assert_uint_eq(get(bytes + 6, 2), form->zstd);
        ck_assert_uint_eq(get(bytes + 8, form->version == 2 ? 4 : 8), len);
        if (form->zstd)
            inflated = ZSTD_decompress(plain, ROOM, bytes + header, len - header);
        else
            ck_assert_int_eq(uncompress(plain, &inflated, bytes + header, len - header), Z_OK);
        ck_assert_uint_eq(get(bytes + (form->version == 2 ? 12 : 16), form->version == 2 ? 4 : 8),
                          inflated);
        ck_assert_uint_eq(get(bytes + header - 8, 8), sum_of(plain, inflated));
    } else {
        memcpy(plain, bytes, inflated = len);
    }
    ck_assert_mem_eq(plain, MAGIC, 24);
    size_t at = 32, end = 0;
    for (uint64_t left = get(plain + 24, 8); left; left--) {
        uint64_t offset = get(plain + at, 8), size = get(plain + at + 8, 8),
                 name = get(plain + at + 16, 8);
        ck_assert_uint_eq(offset % 4096, 0);
        ck_assert_uint_ge(offset, end);
        ck_assert_uint_le(offset + size, inflated);
        for (size_t i = 1; i < size; i++)
            ck_assert_uint_eq(plain[offset + i], plain[offset]);
        const char *word = (const char *)plain + at + 24, *gpu = memmem(word, name, "gfx", 3);
        bool spirv = memmem(word, name, "spirv", 5) != NULL;
        size_t skip = gpu ? (size_t)(gpu - word) : 0;
        fprintf(out, "%s%.*s", end ? " " : "",
                gpu     ? (int)(name - skip)
                : spirv ? 5
                        : 4,
                gpu     ? gpu
                : spirv ? "spirv"
                        : word);
        if (size) /* the number of its place is its content, and tells its size */
            ck_assert_uint_eq(size, 5000 + (plain[offset] - 1u) * 100);
        end = offset + size;
        at += 24 + name;
    }
    ck_assert_uint_eq(end, inflated);
    fclose(out);
    return text;
}

static int cut(const void *bytes, size_t len, const char *target, struct ocv_slim_result *result)
{
    struct ocv_slim_target t;
    struct ocv_error err = {0};
    ocv_auto_fd int in = memfd_create("bundle", MFD_CLOEXEC);
    ocv_auto_fd int scratch = memfd_create("scratch", MFD_CLOEXEC);
    int out = memfd_create("cut", MFD_CLOEXEC);
    ck_assert_int_eq(ocv_slim_target_parse(target, strlen(target), &t, &err), OCV_OK);
    t.scratch = scratch;
    ck_assert(in >= 0 && out >= 0 && ocv_fd_write(in, bytes, len));
    ck_assert_msg(ocv_slim_file(in, len, out, &t, result, &err) == OCV_OK, "%s", err.message);
    return out;
}

START_TEST(test_what_of_a_bundle_stays)
{
    const struct form *form = &forms[_i % 5];
    const struct choice *it = &choices[_i / 5];
    ocv_auto_free unsigned char *bytes = calloc(1, ROOM), *got = calloc(1, ROOM);
    size_t len = make_bundle(form, it->has, bytes);
    struct ocv_slim_result result;
    ocv_auto_fd int fd = cut(bytes, len, it->target, &result);
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    if (!strcmp(it->has, it->keeps)) {
        ck_assert_int_eq(result.outcome, OCV_SLIM_NOTHING);
        ck_assert_int_eq(st.st_size, 0);
        return;
    }
    ck_assert_msg(result.outcome == OCV_SLIM_CUT, "%s: %s", it->has, result.why);
    ck_assert_int_eq(result.after, st.st_size);
    ck_assert_int_eq(pread(fd, got, ROOM, 0), st.st_size);
    ocv_auto_free char *text = read_bundle(form, got, (size_t)st.st_size);
    ck_assert_msg(!strcmp(text, it->keeps), "%s for %s: %s and not %s", it->has, it->target, text,
                  it->keeps);
    ck_assert_uint_ge(result.n_removed, 1);
    ck_assert_str_eq(result.removed[0].kind, "hip-code");
    /* what is cut is cut no further */
    ocv_auto_fd int again = cut(got, (size_t)st.st_size, it->target, &result);
    (void)again;
    ck_assert_int_eq(result.outcome, OCV_SLIM_NOTHING);
}
END_TEST

/* A byte that is changed, and why the bundle is left alone then. */
static const struct {
    int form;
    size_t at;
    unsigned char byte;
    const char *why; /* NULL: it is no bundle at all */
} changes[] = {
    {0, 24, 0, NULL},    /* no entries: nothing that is known */
    {0, 33, 0, NULL},    /* the first is within the list */
    {0, 110, 'x', NULL}, /* a kind of code that is not known */
    {2, 4, 1, NULL},     /* a version that does not say where it ends */
    {2, 10, 0xff, NULL}, /* longer than the file */
    {2, 30, 0xff, "a bundle of device code in it is malformed"},
    {4, 40, 0xff, "a bundle of device code in it is malformed"},
};

START_TEST(test_a_bundle_that_is_not_understood_is_left_alone)
{
    ocv_auto_free unsigned char *bytes = calloc(1, ROOM);
    struct ocv_slim_result result;
    size_t len = make_bundle(&forms[changes[_i].form], "host gfx90a gfx942", bytes);
    bytes[changes[_i].at] = changes[_i].byte;
    ocv_auto_fd int fd = cut(bytes, len, "gfx942", &result);
    (void)fd;
    ck_assert_int_eq(result.outcome, changes[_i].why ? OCV_SLIM_LEFT : OCV_SLIM_NOTHING);
    if (changes[_i].why)
        ck_assert_str_eq(result.why, changes[_i].why);
    ck_assert_int_eq(result.after, result.before);
}
END_TEST

START_TEST(test_a_bundle_that_is_cut_off)
{
    ocv_auto_free unsigned char *bytes = calloc(1, ROOM);
    struct ocv_slim_result result;
    size_t len = make_bundle(&forms[_i], "host gfx90a gfx942", bytes);
    for (size_t n = 0; n < len; n += n < 256 ? 1 : 997) {
        ocv_auto_fd int fd = cut(bytes, n, "gfx942", &result);
        (void)fd;
        ck_assert_int_ne(result.outcome, OCV_SLIM_CUT);
    }
}
END_TEST

struct wrapper {
    unsigned magic, version;
    const char *code;
    void *other;
};

/* What a linker makes of it: test/tools/library/hip_library.c. */
START_TEST(test_a_library_with_bundles)
{
    static const struct {
        const char *target;
        unsigned char first, second; /* the code that is left */
    } wanted[] = {{"gfx942", 3, 6}, {"gfx1100", 4, 7}, {"gfx1201", 5, 8}, {"sm_80", 1, 6}};
    char path[512];
    const char *build = getenv("OCV_BUILD");
    struct ocv_slim_result result;
    ocv_auto_buffer in;
    ocv_buffer_init(&in, 1 << 24);
    snprintf(path, sizeof(path), "%s/test/tools/hip_library", build ? build : "build");
    ck_assert_int_eq(ocv_file_read(path, OCV_FILE_REGULAR, &in, NULL), OCV_OK);
    ocv_auto_fd int fd = cut(in.data, in.len, wanted[_i].target, &result);
    ck_assert_msg(result.outcome == OCV_SLIM_CUT, "%s", result.why);
    ck_assert_int_eq(result.regions, 2);
    ck_assert_int_eq(result.before - result.after, 5 * 4096); /* a page has headers */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    const struct wrapper *wrappers = dlsym(handle, "hip_wrappers");
    int (*answer)(int) = (int (*)(int))dlsym(handle, "hip_answer");
    ck_assert(wrappers && answer);
    ck_assert_int_eq(answer(41), 42);
    for (size_t i = 0; i < 2; i++) {
        const unsigned char *bundle = (const unsigned char *)wrappers[i].code;
        ck_assert_uint_eq(wrappers[i].magic, 0x48495046);
        ck_assert_mem_eq(bundle, MAGIC, 24);
        ck_assert_uint_eq((uintptr_t)bundle % 4096, 0);
        /* behind the host's row, which has 30 letters */
        uint64_t offset = get(bundle + 32 + 24 + 30, 8);
        ck_assert_uint_eq(bundle[offset], i ? wanted[_i].second : wanted[_i].first);
    }
    dlclose(handle);
}
END_TEST

/* Not a reason to leave the file: the next run would have it. */
START_TEST(test_no_room_is_an_error)
{
    static const struct form form = {3, true};
    ocv_auto_free unsigned char *bundle = malloc(ROOM);
    size_t len = make_bundle(&form, "host gfx90a gfx942", bundle);
    struct ocv_slim_target t;
    struct ocv_slim_result result;
    struct ocv_error err = {0};
    ocv_auto_fd int in = memfd_create("bundle", MFD_CLOEXEC),
                    out = memfd_create("cut", MFD_CLOEXEC);
    ocv_auto_fd int scratch = memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ocv_slim_target_parse("gfx942", 6, &t, &err), OCV_OK);
    t.scratch = scratch;
    ck_assert(ocv_fd_write(in, bundle, len) && fcntl(scratch, F_ADD_SEALS, F_SEAL_GROW) == 0);
    ck_assert_int_eq(ocv_slim_file(in, len, out, &t, &result, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "no room for a temporary file of 131072 bytes"));
}
END_TEST

#ifndef OCV_SANITIZED
/* zstd with the window of `zstd --long`, as clang takes it for bundles that are large. */
static size_t compress_long(const unsigned char *plain, size_t len, unsigned char *out, size_t room)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_outBuffer to = {out, room, 0};
    ck_assert(zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 27)));
    for (size_t at = 0; at < len;) { /* bit by bit, so that its size does not make it smaller */
        size_t n = len - at < ROOM ? len - at : ROOM;
        ZSTD_inBuffer in = {plain + at, n, 0};
        ck_assert(!ZSTD_isError(ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_continue)));
        at += in.pos;
    }
    ZSTD_inBuffer none = {NULL, 0, 0};
    ck_assert_uint_eq(ZSTD_compressStream2(zstd, &to, &none, ZSTD_e_end), 0);
    ZSTD_freeCCtx(zstd);
    return to.pos;
}

START_TEST(test_a_large_window_takes_no_memory)
{
    const size_t code = (size_t)4 << 20, len = 4096 + 2 * code;
    unsigned char *plain =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned char *out = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static const char *const words[] = {"host", "gfx942", "gfx1100"};
    struct ocv_slim_result result;
    char name[128];
    size_t at = 32;
    ck_assert(plain != MAP_FAILED && out != MAP_FAILED);
    memcpy(plain, MAGIC, 24);
    put(plain + 24, 3, 8);
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(full_name(words[i], name));
        put(plain + at, 4096 + (i > 1 ? code : 0), 8);
        put(plain + at + 8, i ? code : 0, 8);
        put(plain + at + 16, n, 8);
        memcpy(plain + at + 24, name, n);
        at += 24 + n;
    }
    for (size_t i = 4096, x = 1; i < len; i += 64) /* not so dull that nobody would believe it */
        put(plain + i, x = x * 6364136223846793005u + 1442695040888963407u, 8);
    size_t total = 32 + compress_long(plain, len, out + 32, len - 32);
    memcpy(out, "CCOB", 4);
    put(out + 4, 3, 2);
    put(out + 6, 1, 2);
    put(out + 8, total, 8);
    put(out + 16, len, 8);
    put(out + 24, sum_of(plain, len), 8);
    const struct rlimit most = {(rlim_t)64 << 20, (rlim_t)64 << 20};
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &most), 0);
    ocv_auto_fd int fd = cut(out, total, "gfx942", &result);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(result.outcome, OCV_SLIM_CUT);
    ck_assert_int_lt(result.after, (int64_t)total * 2 / 3);
    munmap(plain, len);
    munmap(out, len);
}
END_TEST
#endif

TEST_FILE
{
    Suite *suite = suite_create("bundle");
    TCase *tcase = tcase_create("bundle");
    int n = (int)(sizeof(choices) / sizeof(choices[0]));
    tcase_add_loop_test(tcase, test_what_of_a_bundle_stays, 0, n * 5);
    tcase_add_loop_test(tcase, test_a_bundle_that_is_not_understood_is_left_alone, 0,
                        (int)(sizeof(changes) / sizeof(changes[0])));
    tcase_add_loop_test(tcase, test_a_bundle_that_is_cut_off, 0, 5);
    tcase_add_test(tcase, test_no_room_is_an_error);
#ifndef OCV_SANITIZED /* whose shadow memory is more */
    tcase_add_test(tcase, test_a_large_window_takes_no_memory);
#endif
    tcase_add_loop_test(tcase, test_a_library_with_bundles, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
