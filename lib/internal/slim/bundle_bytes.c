/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The bytes of offload bundles, plain and compressed (CCOB). */
#include "lib/internal/slim/slim_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define CCOB_MAGIC 0x424f4343u
#define RATIO_MAX 1024u /* code is no more than so much smaller when it is compressed */

bool ocv_slim_ccob_read(const unsigned char *p, uint64_t len, struct ocv_slim_ccob *c)
{
    if (len < 24 || ocv_slim_u32(p) != CCOB_MAGIC)
        return false;
    uint32_t word = ocv_slim_u32(p + 4);
    *c = (struct ocv_slim_ccob){.version = word & 0xffff, .method = word >> 16};
    if (c->version == 2) {
        c->header = 24;
        c->total = ocv_slim_u32(p + 8);
        c->inflated = ocv_slim_u32(p + 12);
    } else if (c->version == 3 && len >= 32) {
        c->header = 32;
        c->total = ocv_slim_u64(p + 8);
        c->inflated = ocv_slim_u64(p + 16);
    } else {
        return false;
    }
    c->hash = ocv_slim_u64(p + c->header - 8);
    return c->method <= OCV_SLIM_ZSTD && c->total > c->header && c->total <= len &&
           c->inflated / RATIO_MAX <= c->total;
}

void ocv_slim_ccob_write(unsigned char *p, const struct ocv_slim_ccob *c)
{
    ocv_slim_put64(p, CCOB_MAGIC | (uint64_t)c->version << 32 | (uint64_t)c->method << 48);
    if (c->version == 2) {
        ocv_slim_put64(p + 8, c->total | c->inflated << 32);
    } else {
        ocv_slim_put64(p + 8, c->total);
        ocv_slim_put64(p + 16, c->inflated);
    }
    ocv_slim_put64(p + c->header - 8, c->hash);
}

void ocv_slim_source_close(struct ocv_slim_source *s)
{
    if (s->inflates)
        inflateEnd(&s->zlib);
    if (s->mapped)
        munmap(s->mapped, s->size);
}

const char *ocv_slim_source_open(struct ocv_slim_source *s, const unsigned char *bytes,
                                 uint64_t len, int file, uint64_t at)
{
    struct ocv_slim_ccob c;
    *s = (struct ocv_slim_source){.next = bytes, .left = len};
    if (!ocv_slim_ccob_read(bytes, len, &c))
        return NULL;
    *s = (struct ocv_slim_source){.next = bytes + c.header, .left = c.total - c.header};
    if (c.method != OCV_SLIM_ZSTD) {
        s->more = c.inflated;
        s->inflates = inflateInit(&s->zlib) == Z_OK;
        return s->inflates ? NULL : OCV_SLIM_NO_MEMORY;
    }
    /* One frame, of just the size that is said. `at`: in the file, which has room for it. */
    const unsigned char *frame = s->next;
    size_t size = s->left;
    struct stat st;
    if (ZSTD_findFrameCompressedSize(frame, size) != size || !c.inflated ||
        c.inflated > SIZE_MAX / 2)
        return OCV_SLIM_MALFORMED;
    if (file < 0 || fstat(file, &st) < 0 || (uint64_t)st.st_size < at + c.inflated)
        return OCV_SLIM_NO_ROOM;
    void *mapped = mmap(NULL, c.inflated, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
    if (mapped == MAP_FAILED)
        return OCV_SLIM_NO_MEMORY;
    s->mapped = mapped;
    s->size = c.inflated;
    size_t n = ZSTD_decompress(s->mapped, c.inflated, frame, size);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        return OCV_SLIM_NO_MEMORY;
    if (ZSTD_isError(n) || n != c.inflated)
        return OCV_SLIM_MALFORMED;
    s->next = s->mapped;
    s->left = n;
    return NULL;
}

size_t ocv_slim_source_some(struct ocv_slim_source *s, unsigned char *out, size_t len)
{
    size_t n = 0;
    unsigned char none;
    if (!s->inflates) {
        n = s->left < len ? (size_t)s->left : len;
        memcpy(out, s->next, n);
        s->next += n;
        s->left -= n;
        return n;
    }
    if (s->ended)
        return 0;
    if (!s->more) { /* only its end is left */
        out = &none;
        len = 1;
    } else if (len > s->more) {
        len = (size_t)s->more;
    }
    uint64_t have = s->left < UINT32_MAX ? s->left : UINT32_MAX;
    s->zlib.next_in = (unsigned char *)(uintptr_t)s->next;
    s->zlib.avail_in = (unsigned)have;
    s->zlib.next_out = out;
    s->zlib.avail_out = (unsigned)len;
    int status = inflate(&s->zlib, Z_NO_FLUSH);
    s->no_memory = status == Z_MEM_ERROR;
    s->next += have - s->zlib.avail_in;
    s->left -= have - s->zlib.avail_in;
    s->ended = status != Z_OK;
    n = status == Z_OK || status == Z_STREAM_END ? len - s->zlib.avail_out : 0;
    if (n > s->more) {
        s->ended = false; /* more than it says */
        return 0;
    }
    s->more -= n;
    return n;
}

bool ocv_slim_source_read(struct ocv_slim_source *s, unsigned char *out, size_t len)
{
    for (size_t n = 0; len; out += n, len -= n)
        if (!(n = ocv_slim_source_some(s, out, len)))
            return false;
    return true;
}
