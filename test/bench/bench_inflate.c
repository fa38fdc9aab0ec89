/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_inflate LAYER...: layers in gzip or zstd through zlib and libzstd, as content-scan has them
 * inflated, and nothing else. Prints how many bytes they hold. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define CHUNK ((size_t)256 << 10)

static unsigned char in[CHUNK], out[CHUNK];

__attribute__((noreturn)) static void die(const char *file, const char *why)
{
    fprintf(stderr, "bench_inflate: %s: %s\n", file, why);
    exit(1);
}

static uint64_t read_gzip(const char *name, FILE *file)
{
    z_stream z = {0};
    uint64_t bytes = 0;
    size_t n;
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        die(name, "no memory");
    while ((n = fread(in, 1, CHUNK, file)) > 0) {
        z.next_in = in;
        z.avail_in = (unsigned)n;
        do {
            z.next_out = out;
            z.avail_out = (unsigned)CHUNK;
            int status = inflate(&z, Z_NO_FLUSH);
            bytes += CHUNK - z.avail_out;
            if (status == Z_STREAM_END)
                inflateReset(&z); /* the next member */
            else if (status != Z_OK && status != Z_BUF_ERROR)
                die(name, "malformed");
        } while (z.avail_in || !z.avail_out);
    }
    inflateEnd(&z);
    return bytes;
}

static uint64_t read_zstd(const char *name, FILE *file)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    uint64_t bytes = 0;
    size_t n;
    while (context && (n = fread(in, 1, CHUNK, file)) > 0) {
        ZSTD_inBuffer from = {in, n, 0};
        ZSTD_outBuffer to = {out, CHUNK, 0};
        do {
            to.pos = 0;
            if (ZSTD_isError(ZSTD_decompressStream(context, &to, &from)))
                die(name, "malformed");
            bytes += to.pos;
        } while (from.pos < from.size || to.pos == to.size);
    }
    ZSTD_freeDCtx(context);
    return bytes;
}

int main(int argc, char **argv)
{
    uint64_t bytes = 0;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        int first = file ? getc(file) : EOF;
        if (first == EOF)
            die(argv[i], "cannot be read");
        rewind(file);
        bytes += first == 0x1f ? read_gzip(argv[i], file) : read_zstd(argv[i], file);
        fclose(file);
    }
    printf("%llu\n", (unsigned long long)bytes);
    return 0;
}
