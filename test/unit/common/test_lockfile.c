/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tags of a locked set: how many there may be. */
#include "cmd/common/image/lockfile.h"

#include "test/unit/core_util.h"

#include <unistd.h>

#define DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void write_lock(char path[32], unsigned tags)
{
    snprintf(path, 32, "/tmp/ocv-lock-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    fputs("{\"schema\":\"dev.ocivariant.lock/v1\",\"images\":[{\"reference\":\"docker.io/library/"
          "app:1\",\"index\":\"" DIGEST "\",\"profiles\":{\"a\":{\"digest\":\"" DIGEST
          "\"}},\"tags\":{",
          file);
    for (unsigned i = 0; i < tags; i++)
        fprintf(file, "%s\"1-%u\":{\"digest\":\"" DIGEST "\"}", i ? "," : "", i);
    fputs("}}]}", file);
    ck_assert_int_eq(fclose(file), 0);
}

static int read_lock(unsigned tags, struct ocv_error *err)
{
    char path[32];
    struct lock lock;
    *err = (struct ocv_error){0};
    write_lock(path, tags);
    int status = lock_read(path, &lock, err);
    if (status == OCV_OK)
        ck_assert_uint_eq(lock.images[0].n_tags, tags);
    lock_free(&lock);
    unlink(path);
    return status;
}

START_TEST(test_tags)
{
    struct ocv_error err;
    ck_assert_msg(read_lock(LOCK_TAGS_MAX, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(read_lock(LOCK_TAGS_MAX + 1, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "app:1: 'tags' must hold 1 to 256 tags"));
    ck_assert_int_eq(read_lock(0, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "app:1: 'tags' must hold 1 to 256 tags"));
}
END_TEST

RUN_TESTS("lockfile", test_tags)
