/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layer, compressed: the same input gives the same bytes. On standard error its diff ID: the
 * digest of what came in. */
#include "plugins/content/scan.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "ocivariant/digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define ZSTD_LEVEL 3 /* what docker and skopeo take, too */
#define SHA256_NONE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

struct compressor {
    z_stream *gzip; /* or */
    ZSTD_CCtx *zstd;
    unsigned char *in, *out; /* SCAN_CHUNK each */
};

static void free_compressor(struct compressor *c)
{
    if (c->gzip)
        deflateEnd(c->gzip);
    ZSTD_freeCCtx(c->zstd);
    free(c->in);
    free(c->out);
}

/* Compress `len` bytes of c->in; `last`: nothing follows. */
static int compress_chunk(struct compressor *c, size_t len, bool last, struct ocv_error *err)
{
    ZSTD_inBuffer in = {c->in, len, 0};
    if (c->gzip) {
        c->gzip->next_in = c->in;
        c->gzip->avail_in = (uInt)len;
    }
    for (bool more = true; more;) {
        size_t n;
        if (c->gzip) {
            c->gzip->next_out = c->out;
            c->gzip->avail_out = (uInt)SCAN_CHUNK;
            int got = deflate(c->gzip, last ? Z_FINISH : Z_NO_FLUSH);
            n = SCAN_CHUNK - c->gzip->avail_out;
            more = last ? got != Z_STREAM_END : !c->gzip->avail_out;
        } else {
            ZSTD_outBuffer out = {c->out, SCAN_CHUNK, 0};
            size_t left =
                ZSTD_compressStream2(c->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left))
                return ocv_error_set(err, OCV_ERR_IO, "zstd: %s", ZSTD_getErrorName(left));
            n = out.pos;
            more = last ? left != 0 : in.pos < in.size;
        }
        if (!ocv_fd_write(STDOUT_FILENO, c->out, n))
            return ocv_error_set(err, OCV_ERR_IO, "standard output: %s", strerror(errno));
    }
    return OCV_OK;
}

int scan_compress(const char *method, struct ocv_error *err)
{
    z_stream gzip = {0};
    __attribute__((cleanup(free_compressor))) struct compressor c = {.in = malloc(SCAN_CHUNK),
                                                                     .out = malloc(SCAN_CHUNK)};
    ocv_auto(ocv_hasher) hasher = NULL;
    char digest[OCV_DIGEST_MAX];
    scan_confine(SCAN_STREAM);
    OCV_TRY(ocv_hasher_new(SHA256_NONE, &hasher, err));
    if (!c.in || !c.out)
        return ocv_error_nomem(err);
    if (!strcmp(method, "gzip")) {
        /* 16: gzip's header, without name or time */
        if (deflateInit2(&gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            return ocv_error_nomem(err);
        c.gzip = &gzip;
    } else if (!strcmp(method, "zstd")) {
        c.zstd = ZSTD_createCCtx();
        if (!c.zstd)
            return ocv_error_nomem(err);
        ZSTD_CCtx_setParameter(c.zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    } else {
        return ocv_error_set(err, OCV_ERR_INVALID, "no such compression: %s", method);
    }
    /* whole pieces: what comes of a pipe at once must not matter */
    for (bool last = false; !last;) {
        size_t len = 0;
        while (len < SCAN_CHUNK && !last) {
            ssize_t n = read(STDIN_FILENO, c.in + len, SCAN_CHUNK - len);
            if (n < 0 && errno != EINTR)
                return ocv_error_set(err, OCV_ERR_IO, "standard input: %s", strerror(errno));
            last = n == 0;
            len += n > 0 ? (size_t)n : 0;
        }
        OCV_TRY(ocv_hasher_update(hasher, c.in, len, err));
        OCV_TRY(compress_chunk(&c, len, last, err));
    }
    OCV_TRY(ocv_hasher_final(hasher, digest, err));
    fprintf(stderr, "%s\n", digest);
    return OCV_OK;
}
