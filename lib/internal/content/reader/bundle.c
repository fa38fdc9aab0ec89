/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Offload bundles of clang: a list of targets with the code of each, which may be compressed as a
 * whole; then the list is within the compressed part, whose beginning is inflated.
 *
 * bundle: magic, u64 entries; each u64 offset, u64 size, u64 length, name of the target
 * CCOB:   u32 magic, u16 version, u16 method; version 1: u32 inflated; 2: u32 total, u32 inflated;
 *         3: u64 total, u64 inflated; then u64 hash and the compressed bundle */
#include "lib/base/cleanup.h"
#include "lib/internal/content/reader/reader.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define ENTRIES_MAX 1024u
#define NAME_MAX_LEN 256u
#define INFLATIONS_MAX 16384u               /* as many as an archive of so many objects has */
#define COMPRESSED_MAX ((size_t)160 * 1024) /* a block of zstd, and what stands before it */

enum method { METHOD_ZLIB = 0, METHOD_ZSTD = 1 };

struct bundle {
    int64_t container; /* where the file has it */
    uint64_t part;     /* what is in the file for each 2^20 bytes of the bundle */
    int64_t end;       /* within the bundle */
};

bool ocv_bundle_gpu(const char *target, size_t len, char *out, size_t size)
{
    const char *gpu = memmem(target, len, "-gfx", 4);
    if (!gpu)
        return false;
    gpu++;
    size_t n = 0;
    for (; gpu + n < target + len && n < size - 1; n++) {
        char c = gpu[n];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !strchr(":+-", c))
            break;
    }
    memcpy(out, gpu, n);
    out[n] = '\0';
    return n > 3;
}

#define BYTES_MAX (INT64_C(1) << 43) /* of code: 8 TiB */
__extension__ typedef unsigned __int128 wide_number;

static int sight_target(struct ocv_content_reader *r, const struct bundle *b, const char *name,
                        size_t len, uint64_t size, struct ocv_error *err)
{
    char value[64];
    wide_number part = (wide_number)size * b->part >> 20;
    int64_t bytes = part < BYTES_MAX ? (int64_t)part : BYTES_MAX;
    if (len >= 4 && !memcmp(name, "host", 4))
        return OCV_OK;
    if (ocv_bundle_gpu(name, len, value, sizeof(value)))
        return ocv_content_sight(r, b->container, OCV_CONTENT_HIP_CODE, value, bytes, err);
    const char *spir = memmem(name, len, "spir", 4);
    if (!spir || len - (size_t)(spir - name) >= sizeof(value)) {
        ocv_content_unseen(r, "device code for a target that is not known");
        return OCV_OK;
    }
    memcpy(value, spir, len - (size_t)(spir - name));
    value[len - (size_t)(spir - name)] = '\0';
    value[strcspn(value, "-")] = '\0';
    return ocv_content_sight(r, b->container, OCV_CONTENT_SYCL_CODE, value, bytes, err);
}

/* The list of targets at the begin of `p`. 1: read, 0: cut short, -2: malformed, or an error. */
enum { LIST_BAD = -100 };
static int read_list(struct ocv_content_reader *r, struct bundle *b, const unsigned char *p,
                     size_t have, bool count, struct ocv_error *err)
{
    size_t at = OCV_BUNDLE_MAGIC_LEN + 8;
    if (have < at)
        return OCV_STEP_MORE;
    uint64_t n = ocv_le64(p + OCV_BUNDLE_MAGIC_LEN);
    if (n < 1 || n > ENTRIES_MAX)
        return LIST_BAD;
    for (uint64_t i = 0; i < n; i++) {
        if (at + 24 > OCV_HEADER_MAX)
            return LIST_BAD;
        if (have < at + 24)
            return OCV_STEP_MORE;
        uint64_t offset = ocv_le64(p + at), size = ocv_le64(p + at + 8);
        uint64_t len = ocv_le64(p + at + 16);
        if (len > NAME_MAX_LEN || offset > INT64_MAX / 4 || size > INT64_MAX / 4)
            return LIST_BAD;
        if (have < at + 24 + len)
            return OCV_STEP_MORE;
        if (count)
            OCV_TRY(sight_target(r, b, (const char *)p + at + 24, len, size, err));
        if (b->end < (int64_t)(offset + size))
            b->end = (int64_t)(offset + size);
        at += 24 + len;
    }
    if (b->end < (int64_t)at)
        b->end = (int64_t)at;
    return OCV_STEP_DONE;
}

int ocv_bundle_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err)
{
    size_t have;
    const unsigned char *p = ocv_window_at(r, offset, &have);
    struct bundle b = {.container = offset, .part = 1 << 20};
    r->next = offset + 8;
    if (have >= OCV_BUNDLE_MAGIC_LEN && memcmp(p, OCV_BUNDLE_MAGIC, OCV_BUNDLE_MAGIC_LEN) != 0)
        return OCV_STEP_DONE;
    int status =
        have < OCV_BUNDLE_MAGIC_LEN ? OCV_STEP_MORE : read_list(r, &b, p, have, false, err);
    if (status == LIST_BAD)
        return OCV_STEP_DONE;
    if (status == OCV_STEP_MORE && !last)
        r->next = offset;
    if (status == OCV_STEP_MORE)
        return last ? OCV_STEP_DONE : OCV_STEP_MORE;
    OCV_TRY(read_list(r, &b, p, have, true, err));
    OCV_TRY(ocv_content_leap(r, offset, (offset + b.end + 7) & ~(int64_t)7, err));
    return OCV_STEP_DONE;
}

/* Inflate the beginning; bytes written to r->header, those before an error too, -1 without memory.
 */
static ssize_t inflate_zlib(struct ocv_content_reader *r, const unsigned char *p, size_t len)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)p,
                  .avail_in = (unsigned)len,
                  .next_out = r->header,
                  .avail_out = (unsigned)OCV_HEADER_MAX};
    int status = inflateInit(&z);
    if (status == Z_OK)
        status = inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return status == Z_MEM_ERROR ? -1 : (ssize_t)(OCV_HEADER_MAX - z.avail_out);
}

/* Compilers write frames of zstd 1.0 (RFC 8878). libzstd may read older formats, too, whose
 * decoders take what an earlier frame left for a part of this one. */
#define ZSTD_FRAME 0xFD2FB528u
static ssize_t inflate_zstd(struct ocv_content_reader *r, const unsigned char *p, size_t len)
{
    if (len < 4 || ocv_le32(p) != ZSTD_FRAME)
        return 0;
    if (!r->zstd)
        r->zstd = ZSTD_createDCtx();
    if (!r->zstd)
        return -1;
    ZSTD_DCtx_reset(r->zstd, ZSTD_reset_session_only);
    ZSTD_inBuffer in = {p, len, 0};
    ZSTD_outBuffer out = {r->header, OCV_HEADER_MAX, 0};
    while (out.pos < out.size && in.pos < in.size) {
        size_t before = in.pos + out.pos;
        size_t status = ZSTD_decompressStream(r->zstd, &out, &in);
        if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation)
            return -1;
        if (ZSTD_isError(status) || !status || in.pos + out.pos == before)
            break;
    }
    return (ssize_t)out.pos;
}

struct ccob {
    size_t header;
    int64_t total; /* 0: not said */
    uint64_t inflated;
    unsigned method;
};

/* Read the header of a compressed bundle; false if it is malformed. `p` has at least 32 bytes. */
static bool read_ccob(const unsigned char *p, struct ccob *c)
{
    unsigned version = ocv_le16(p + 4);
    *c = (struct ccob){.method = ocv_le16(p + 6)};
    if (version == 1) {
        c->header = 20;
        c->inflated = ocv_le32(p + 8);
    } else if (version == 2) {
        c->header = 24;
        c->total = ocv_le32(p + 8);
        c->inflated = ocv_le32(p + 12);
    } else if (version == 3 && ocv_le64(p + 8) <= INT64_MAX / 4) {
        c->header = 32;
        c->total = (int64_t)ocv_le64(p + 8);
        c->inflated = ocv_le64(p + 16);
    } else {
        return false;
    }
    return c->method <= METHOD_ZSTD && c->inflated > OCV_BUNDLE_MAGIC_LEN &&
           (version == 1 || c->total > (int64_t)c->header);
}

int ocv_ccob_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err)
{
    size_t have;
    struct ccob c;
    struct bundle b = {.container = offset};
    const unsigned char *p = ocv_window_at(r, offset, &have);
    r->next = offset + 8;
    if (have < 32) {
        if (!last)
            r->next = offset;
        return last ? OCV_STEP_DONE : OCV_STEP_MORE;
    }
    if (!read_ccob(p, &c))
        return OCV_STEP_DONE;
    size_t want = c.total && c.total < (int64_t)COMPRESSED_MAX ? (size_t)c.total : COMPRESSED_MAX;
    if (have < want && !last) {
        r->next = offset;
        return OCV_STEP_MORE;
    }
    if (r->inflations++ >= INFLATIONS_MAX) {
        ocv_content_unseen(r, "compressed device code: too many bundles");
        return OCV_STEP_DONE;
    }
    /* The list is at the beginning of what it inflates to. */
    size_t len = (have < want ? have : want) - c.header;
    if (!r->header && !(r->header = malloc(OCV_HEADER_MAX)))
        return ocv_error_nomem(err);
    ssize_t got = c.method == METHOD_ZSTD ? inflate_zstd(r, p + c.header, len)
                                          : inflate_zlib(r, p + c.header, len);
    if (got < 0)
        return ocv_error_nomem(err);
    size_t n = (size_t)got;
    OCV_TRY(ocv_content_work(r, 24 + (int64_t)(n / 4096), err));
    b.part = c.total ? ((uint64_t)c.total << 20) / c.inflated : 0;
    int status = LIST_BAD;
    if (n >= OCV_BUNDLE_MAGIC_LEN && !memcmp(r->header, OCV_BUNDLE_MAGIC, OCV_BUNDLE_MAGIC_LEN))
        status = read_list(r, &b, r->header, n, false, err);
    if (status == LIST_BAD || status == OCV_STEP_MORE) {
        ocv_content_unseen(r, "a malformed compressed bundle of device code");
        return OCV_STEP_DONE;
    }
    OCV_TRY(status);
    OCV_TRY(read_list(r, &b, r->header, n, true, err));
    int64_t end = c.total ? offset + c.total : offset + (int64_t)c.header;
    OCV_TRY(ocv_content_leap(r, offset, (end + 7) & ~(int64_t)7, err));
    return OCV_STEP_DONE;
}
