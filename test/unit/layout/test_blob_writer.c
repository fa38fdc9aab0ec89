/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/layout/blob_writer.c: blobs that are written, taken up again and checked. */
#include "test/unit/layout/blob_util.h"

START_TEST(writes_in_odd_pieces)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    for (size_t done = 0, n = 1; done < SIZE; done += n, n = n * 3 + 1) {
        n = n < SIZE - done ? n : SIZE - done;
        need(ocv_blob_writer_write(writer, bytes + done, n, &err));
        ck_assert_int_eq(ocv_blob_writer_offset(writer), (int64_t)(done + n));
        ck_assert(!ocv_layout_has_blob(layout, digest, -1));
    }
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    int64_t offset;
    bool present;
    need(ocv_blob_writer_open(layout, digest, (int64_t)SIZE, &writer, &offset, &present, &err));
    ck_assert(present);
    ck_assert_ptr_null(writer);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(empty_blob)
{
    struct ocv_layout *layout = open_layout("l");
    need(ocv_digest_bytes("", 0, digest, &err));
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    need(ocv_blob_writer_open(layout, digest, 0, &writer, &offset, &present, &err));
    ck_assert(!present);
    need(ocv_blob_writer_commit(writer, &err));
    ck_assert(ocv_layout_has_blob(layout, digest, 0));
    ocv_layout_free(layout);
}
END_TEST

START_TEST(sha512_blob)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_hasher *hasher;
    char wide[OCV_DIGEST_MAX];
    snprintf(wide, sizeof(wide), "sha512:" ZEROS ZEROS);
    need(ocv_hasher_new(wide, &hasher, &err));
    need(ocv_hasher_update(hasher, "abc", 3, &err));
    need(ocv_hasher_final(hasher, wide, &err));
    ocv_hasher_free(hasher);
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    need(ocv_blob_writer_open(layout, wide, 3, &writer, &offset, &present, &err));
    need(ocv_blob_writer_write(writer, "abc", 3, &err));
    need(ocv_blob_writer_commit(writer, &err));
    ck_assert(ocv_layout_has_blob(layout, wide, 3));
    ocv_layout_free(layout);
}
END_TEST

START_TEST(resumes_after_close)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    const size_t first = 3 * 1024 * 1024 + 7;
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, first, &err));
    ocv_blob_writer_close(writer); /* keeps all that was accepted */
    writer = open_writer(layout, (int64_t)first);
    need(ocv_blob_writer_write(writer, bytes + first, 10, &err));
    ocv_blob_writer_close(writer);
    writer = open_writer(layout, (int64_t)first + 10);
    need(ocv_blob_writer_write(writer, bytes + first + 10, SIZE - first - 10, &err));
    ocv_blob_writer_close(writer);
    writer = open_writer(layout, (int64_t)SIZE); /* complete, only to be committed */
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

/* Flags of whichever descriptor leads to the partial. */
static int partial_flags(const char *path)
{
    char name[64], target[512];
    for (int fd = 3; fd < 64; fd++) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, target, sizeof(target) - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (!strcmp(target, path))
            return fcntl(fd, F_GETFL);
    }
    return 0;
}

START_TEST(large_blobs_go_past_the_page_cache)
{
    char file[128];
    make_content();
    struct ocv_layout *layout = open_layout("l");
    snprintf(file, sizeof(file), "%s/probe", scratch);
    int probe = open(file, O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (probe < 0) { /* such a file system: the others have tested that it does without */
        puts("skipped: no O_DIRECT in the directory for temporary files");
        return;
    }
    close(probe);
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE - 1, &err)); /* more than its memory holds */
    ck_assert_int_ne(partial_flags(partial("l")) & O_DIRECT, 0);
    need(ocv_blob_writer_write(writer, bytes + SIZE - 1, 1, &err));
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(passing_blobs_stay_in_memory)
{
    make_content();
    ocv_layout_free(open_layout("l"));
    struct ocv_layout *layout;
    need(ocv_layout_open(at("l"), OCV_LAYOUT_CREATE | OCV_LAYOUT_NOSYNC, &layout, &err));
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE - 1, &err));
    ck_assert_int_ne(partial_flags(partial("l")), 0);
    ck_assert_int_eq(partial_flags(partial("l")) & O_DIRECT, 0);
    need(ocv_blob_writer_write(writer, bytes + SIZE - 1, 1, &err));
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(close_without_bytes_leaves_nothing)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    ocv_blob_writer_close(open_writer(layout, 0));
    ocv_blob_writer_close(NULL);
    ck_assert(!is_there(partial("l")));
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(damaged_partial_is_found_and_removed)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, 1000, &err));
    ocv_blob_writer_close(writer);
    int fd = open(partial("l"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "X", 1, 10), 1);
    close(fd);
    writer = open_writer(layout, 1000);
    need(ocv_blob_writer_write(writer, bytes + 1000, SIZE - 1000, &err));
    refuses(ocv_blob_writer_commit(writer, &err), OCV_ERR_MISMATCH);
    ck_assert_ptr_nonnull(strstr(err.message, digest));
    ck_assert(!is_there(partial("l")));
    ck_assert(!ocv_layout_has_blob(layout, digest, -1));
    finish_blob(layout, 0);
}
END_TEST

START_TEST(partial_longer_than_announced_starts_over)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, 100, &err));
    ocv_blob_writer_close(writer);
    ck_assert_int_eq(truncate(partial("l"), (off_t)SIZE + 1), 0);
    finish_blob(layout, 0);
}
END_TEST

START_TEST(too_many_bytes)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err));
    refuses(ocv_blob_writer_write(writer, "!", 1, &err), OCV_ERR_MISMATCH);
    ocv_blob_writer_close(writer); /* what claimed to be longer is not kept */
    ck_assert(!is_there(partial("l")));
    writer = open_writer(layout, 0);
    refuses(ocv_blob_writer_write(writer, bytes, SIZE + 1, &err), OCV_ERR_MISMATCH);
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err)); /* right, but not all there was */
    refuses(ocv_blob_writer_commit(writer, &err), OCV_ERR_MISMATCH);
    ck_assert(!ocv_layout_has_blob(layout, digest, -1));
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(too_few_bytes_and_wrong_bytes)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE - 1, &err));
    refuses(ocv_blob_writer_commit(writer, &err), OCV_ERR_MISMATCH);
    ck_assert(!is_there(partial("l")));
    writer = open_writer(layout, 0);
    bytes[SIZE / 2] ^= 1;
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err));
    refuses(ocv_blob_writer_commit(writer, &err), OCV_ERR_MISMATCH);
    ck_assert(!is_there(partial("l")));
    ck_assert(!ocv_layout_has_blob(layout, digest, -1));
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(reset_starts_over)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, "rubbish", 7, &err));
    need(ocv_blob_writer_reset(writer, &err));
    ck_assert_int_eq(ocv_blob_writer_offset(writer), 0);
    need(ocv_blob_writer_write(writer, bytes + 100, SIZE - 100, &err));
    need(ocv_blob_writer_reset(writer, &err));
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err));
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

static void mark_done(void *data)
{
    ck_assert_int_eq(write(*(int *)data, "d", 1), 1);
}

START_TEST(finish_in_the_background)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err));
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ocv_blob_writer_finish(writer, mark_done, &ends[1]);
    char c;
    ck_assert_int_eq(read(ends[0], &c, 1), 1); /* comes without commit */
    refuses(ocv_blob_writer_write(writer, "", 0, &err), OCV_ERR_INVALID);
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    writer = NULL;
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

RUN_SUITE("blob_writer", writes_in_odd_pieces, empty_blob, sha512_blob, resumes_after_close,
          large_blobs_go_past_the_page_cache, passing_blobs_stay_in_memory,
          close_without_bytes_leaves_nothing, damaged_partial_is_found_and_removed,
          partial_longer_than_announced_starts_over, too_many_bytes, too_few_bytes_and_wrong_bytes,
          reset_starts_over, finish_in_the_background)
