/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One blob of known bytes, written to the layout "l" of the scratch directory. */
#ifndef BLOB_UTIL_H
#define BLOB_UTIL_H

#include "test/unit/layout/store_util.h"

#define SIZE ((size_t)5 * 1024 * 1024 + 123) /* more than the ring holds, and no round number */

static char digest[OCV_DIGEST_MAX];
static unsigned char *bytes;

static inline void make_content(void)
{
    bytes = make_bytes(SIZE, 1);
    need(ocv_digest_bytes(bytes, SIZE, digest, &err));
}

static inline const char *partial(const char *layout)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s/.ocivariant/sha256-%s.partial", scratch, layout,
             digest + 7);
    return path;
}

static inline struct ocv_blob_writer *open_writer(struct ocv_layout *layout, int64_t expect)
{
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    need(ocv_blob_writer_open(layout, digest, (int64_t)SIZE, &writer, &offset, &present, &err));
    ck_assert(!present);
    ck_assert_int_eq(offset, expect);
    ck_assert_int_eq(ocv_blob_writer_offset(writer), expect);
    return writer;
}

static inline void check_blob(struct ocv_layout *layout)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, SIZE);
    need(ocv_layout_read_blob(layout, digest, &out, &err));
    ck_assert_uint_eq(out.len, SIZE);
    ck_assert_mem_eq(out.data, bytes, SIZE);
    ocv_buffer_free(&out);
    ck_assert(ocv_layout_has_blob(layout, digest, (int64_t)SIZE));
    ck_assert(!ocv_layout_has_blob(layout, digest, (int64_t)SIZE + 1));
    ck_assert(!is_there(partial("l")));
}

/* Write the rest of the blob from `from` on, which must be the writer's position; then free
 * everything. */
static inline void finish_blob(struct ocv_layout *layout, int64_t from)
{
    struct ocv_blob_writer *writer = open_writer(layout, from);
    struct ocv_error other = {.status = OCV_ERR_IO}; /* success leaves it alone */
    need(ocv_blob_writer_write(writer, bytes + from, SIZE - (size_t)from, &other));
    ck_assert_int_eq(other.status, OCV_ERR_IO);
    need(ocv_blob_writer_commit(writer, &err));
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}

#endif
