/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/layout/blob_writer.c on a kernel that writes less than it was given, at once or in the middle
 * of a part. */
#include "test/unit/layout/blob_util.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS_MAX 16

static size_t most; /* bytes that one call writes; 0: all */

/* The program's own calls come here. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
    struct iovec fewer[PARTS_MAX];
    size_t left = most;
    int kept = 0;
    ck_assert_int_le(n, PARTS_MAX);
    for (; kept < n && (!most || left > 0); kept++) {
        fewer[kept] = parts[kept];
        if (most && fewer[kept].iov_len > left)
            fewer[kept].iov_len = left;
        left -= most ? fewer[kept].iov_len : 0;
    }
    return (ssize_t)syscall(SYS_writev, fd, fewer, kept);
}

static const size_t limits[] = {0, 1, 1000, 4096, 1 << 20, (1 << 20) + 1};

static void write_short(struct ocv_layout *layout, size_t limit)
{
    size_t n = limit == 1 ? 20000 : SIZE - limit; /* byte by byte takes a while */
    char want[OCV_DIGEST_MAX];
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    need(ocv_digest_bytes(bytes, n, want, &err));
    need(ocv_blob_writer_open(layout, want, (int64_t)n, &writer, &offset, &present, &err));
    most = limit;
    need(ocv_blob_writer_write(writer, bytes, n, &err));
    need(ocv_blob_writer_commit(writer, &err));
    most = 0;
    struct ocv_buffer out;
    ocv_buffer_init(&out, SIZE);
    need(ocv_layout_read_blob(layout, want, &out, &err));
    ck_assert_uint_eq(out.len, n);
    ck_assert_mem_eq(out.data, bytes, n);
    ocv_buffer_free(&out);
}

START_TEST(short_writes_lose_nothing)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        write_short(layout, limits[i]);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

RUN_SUITE("blob_writer_short", short_writes_lose_nothing)
