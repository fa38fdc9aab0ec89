/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scratch directories and bytes for the tests of the store. */
#ifndef STORE_UTIL_H
#define STORE_UTIL_H

#include "ocivariant.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Text for a digest's hex that nothing hashes to. */
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static char scratch[64];
static struct ocv_error err;

#define need(call) ck_assert_msg((call) == OCV_OK, "%s: %s", #call, err.message)
#define refuses(call, expected)                 \
    do {                                        \
        err.message[0] = '\0';                  \
        ck_assert_int_eq(call, expected);       \
        ck_assert_int_eq(err.status, expected); \
        ck_assert_str_ne(err.message, "");      \
    } while (0)

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void setup(void)
{
    snprintf(scratch, sizeof(scratch), "/tmp/ocv-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static void teardown(void)
{
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* "SCRATCH/name"; four results are valid at a time. */
__attribute__((unused)) static const char *at(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
    return path;
}

__attribute__((unused)) static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

__attribute__((unused)) static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

__attribute__((unused)) static struct ocv_layout *open_layout(const char *name)
{
    struct ocv_layout *layout = NULL;
    need(ocv_layout_open(at(name), OCV_LAYOUT_CREATE, &layout, &err));
    return layout;
}

/* `size` bytes that differ all over, freed by the caller. */
__attribute__((unused)) static unsigned char *make_bytes(size_t size, uint64_t seed)
{
    unsigned char *bytes = malloc(size + 8);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < size; i += 8) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memcpy(bytes + i, &seed, 8);
    }
    return bytes;
}

/* Write a blob and describe it. */
__attribute__((unused)) static struct ocv_descriptor
add_blob(struct ocv_layout *layout, const char *media_type, const void *bytes, size_t len)
{
    struct ocv_descriptor descriptor = {.size = (int64_t)len};
    snprintf(descriptor.media_type, sizeof(descriptor.media_type), "%s", media_type);
    need(ocv_layout_write_blob(layout, bytes, len, descriptor.digest, &err));
    return descriptor;
}

/* Is PROGRAM in the path? Else one line says what is skipped. */
__attribute__((unused)) static bool have_program(const char *program, const char *what)
{
    char command[256];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
    if (system(command) == 0) // NOLINT(cert-env33-c)
        return true;
    printf("skipped: %s: no %s here\n", what, program);
    return false;
}

#define RUN_SUITE(name, ...) RUN_TESTS_IN(name, setup, teardown, __VA_ARGS__)

#endif
