/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entries of an offload bundle stay (LLVM, "Clang Offload Bundler").
 *
 * A program for AMD GPUs takes the entry for its GPU whose features (xnack, sramecc) the process
 * has; all of these stay, and the generic ones of its generation. Where there is none, SPIR-V
 * stays, which the runtime compiles.
 *
 * bundle: magic, u64 entries; each u64 offset, u64 size, u64 length, name of the target
 * CCOB:   u32 magic, u16 version, u16 method (0 zlib, 1 zstd); version 2: u32 total, u32 inflated;
 *         3: u64 total, u64 inflated; then u64 hash, the first bytes of the MD5 sum of the bundle
 *         that follows compressed. Version 1 does not say where it ends. */
#include "lib/base/cleanup.h"
#include "lib/internal/content/content.h"
#include "lib/internal/slim/slim_internal.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define CCOB_MAGIC 0x424f4343u
#define ENTRIES_MAX 256u
#define NAME_MAX_LEN 256u
#define UNIT 4096u /* an entry keeps its place within a page */
#define CHUNK ((size_t)64 << 10)
#define RATIO_MAX 1024u /* code is no more than so much smaller when it is compressed */
#define ZSTD_LEVEL 3    /* as clang's default */

static const char MALFORMED[] = "a bundle of device code in it is malformed";
static const char NO_ROOM[] = "there is no room for a bundle of its device code";
static const char NO_MEMORY[] = "there is no memory for a bundle of its device code";

enum method { METHOD_ZLIB = 0, METHOD_ZSTD = 1 };

/* A compressed bundle's header. */
struct ccob {
    unsigned version;
    enum method method;
    uint64_t header, total, inflated, hash;
};

static bool read_ccob(const unsigned char *p, uint64_t len, struct ccob *c)
{
    if (len < 24 || ocv_slim_u32(p) != CCOB_MAGIC)
        return false;
    uint32_t word = ocv_slim_u32(p + 4);
    *c = (struct ccob){.version = word & 0xffff, .method = word >> 16};
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
    return c->method <= METHOD_ZSTD && c->total > c->header && c->total <= len &&
           c->inflated / RATIO_MAX <= c->total;
}

static void write_ccob(unsigned char *p, const struct ccob *c)
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

/* The bytes of a bundle one after the other, as they are or inflated. What zstd compressed lies in
 * a file, inflated at once: a stream would keep its window in memory, up to 128 MiB. */
struct source {
    const unsigned char *next;
    uint64_t left; /* of the input */
    uint64_t more; /* that it may inflate to, of zlib */
    bool inflates; /* zlib, as it is read */
    z_stream zlib;
    void *mapped; /* `size` bytes of `file`, which ends at `at` without them */
    uint64_t size, at;
    int file;
    bool ended, no_memory;
};

static void source_close(struct source *s)
{
    if (s->inflates)
        inflateEnd(&s->zlib);
    if (!s->mapped)
        return;
    munmap(s->mapped, s->size);
    (void)!ftruncate(s->file, (off_t)s->at); /* what nobody reads again need not reach the disk */
}

/* One frame, of just the size that is said. `at`: in the file, behind what is read beside it. */
static const char *inflate_zstd(struct source *s, const struct ccob *c, int file, uint64_t at)
{
    const unsigned char *frame = s->next;
    size_t len = s->left;
    if (ZSTD_findFrameCompressedSize(frame, len) != len || !c->inflated ||
        c->inflated > SIZE_MAX / 2)
        return MALFORMED;
    if (file < 0 || ocv_slim_make_room(file, at + c->inflated) != 0)
        return NO_ROOM;
    void *mapped = mmap(NULL, c->inflated, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
    if (mapped == MAP_FAILED)
        return NO_MEMORY;
    s->mapped = mapped;
    s->size = c->inflated;
    s->file = file;
    s->at = at;
    size_t n = ZSTD_decompress(s->mapped, c->inflated, frame, len);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        return NO_MEMORY;
    if (ZSTD_isError(n) || n != c->inflated)
        return MALFORMED;
    s->next = s->mapped;
    s->left = n;
    return NULL;
}

/* NULL, or why it cannot be read. */
static const char *source_open(struct source *s, const unsigned char *bytes, uint64_t len, int file,
                               uint64_t at)
{
    struct ccob c;
    *s = (struct source){.next = bytes, .left = len};
    if (!read_ccob(bytes, len, &c))
        return NULL;
    *s = (struct source){.next = bytes + c.header, .left = c.total - c.header};
    if (c.method == METHOD_ZSTD)
        return inflate_zstd(s, &c, file, at);
    s->more = c.inflated;
    s->inflates = inflateInit(&s->zlib) == Z_OK;
    return s->inflates ? NULL : NO_MEMORY;
}

/* At most `len` bytes; 0: the end, or it is malformed. */
static size_t source_some(struct source *s, unsigned char *out, size_t len)
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

static bool source_read(struct source *s, unsigned char *out, size_t len)
{
    for (size_t n = 0; len; out += n, len -= n)
        if (!(n = source_some(s, out, len)))
            return false;
    return true;
}

/* Where what stays goes: into memory, as it is or compressed; or nowhere, to know its size; or to
 * be compared with a bundle that is there. */
struct sink {
    unsigned char *out; /* may be NULL */
    uint64_t room;      /* bytes that may be written */
    uint64_t written;   /* of these */
    uint64_t passed;    /* bytes of the bundle, not compressed */
    struct source *same;
    bool compressed;
    enum method method;
    z_stream zlib;
    ZSTD_CStream *zstd;
    EVP_MD_CTX *sum;
    unsigned char packed[CHUNK]; /* what the compressor gives, or what is compared */
    const char *why;
};

static void sink_close(struct sink *s)
{
    if (s->compressed && s->method == METHOD_ZLIB)
        deflateEnd(&s->zlib);
    ZSTD_freeCStream(s->zstd);
    EVP_MD_CTX_free(s->sum);
}

static bool sink_open(struct sink *s, const struct ccob *c)
{
    s->why = NO_MEMORY;
    if (c) {
        s->sum = EVP_MD_CTX_new();
        if (!s->sum)
            return false;
        if (!EVP_DigestInit_ex(s->sum, EVP_md5(), NULL)) {
            s->why = "its device code has a sum, MD5, that this machine does not allow";
            return false;
        }
    }
    if (c && !s->same) {
        s->compressed = true;
        s->method = c->method;
        if (c->method == METHOD_ZLIB && deflateInit(&s->zlib, Z_DEFAULT_COMPRESSION) != Z_OK)
            return false;
        if (c->method == METHOD_ZSTD &&
            (!(s->zstd = ZSTD_createCStream()) ||
             ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
             ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 0))))
            return false;
    }
    s->why = NULL;
    return true;
}

static bool sink_put(struct sink *s, const unsigned char *bytes, size_t len)
{
    if (len > s->room - s->written) {
        s->why = "a bundle of its device code would not get smaller";
        return false;
    }
    if (s->out)
        memcpy(s->out + s->written, bytes, len);
    s->written += len;
    return true;
}

static bool sink_deflate(struct sink *s, const unsigned char *bytes, size_t len, bool last)
{
    bool more = true;
    s->zlib.next_in = (unsigned char *)(uintptr_t)bytes;
    s->zlib.avail_in = (unsigned)len;
    for (size_t at = 0; more;) {
        size_t n;
        if (s->method == METHOD_ZLIB) {
            s->zlib.next_out = s->packed;
            s->zlib.avail_out = CHUNK;
            int status = deflate(&s->zlib, last ? Z_FINISH : Z_NO_FLUSH);
            n = CHUNK - s->zlib.avail_out;
            more = status != Z_STREAM_END && (last || !s->zlib.avail_out || s->zlib.avail_in);
        } else {
            ZSTD_inBuffer in = {bytes, len, at};
            ZSTD_outBuffer to = {s->packed, CHUNK, 0};
            size_t left =
                ZSTD_compressStream2(s->zstd, &to, &in, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left)) {
                s->why = NO_MEMORY;
                return false;
            }
            at = in.pos;
            n = to.pos;
            more = last ? left != 0 : in.pos < in.size;
        }
        if (!sink_put(s, s->packed, n))
            return false;
    }
    return true;
}

static bool sink_write(struct sink *s, const unsigned char *bytes, size_t len)
{
    s->passed += len;
    if (s->sum && !EVP_DigestUpdate(s->sum, bytes, len))
        return false;
    if (s->compressed)
        return sink_deflate(s, bytes, len, false);
    for (size_t n; s->same && len; bytes += n, len -= n) {
        n = len < CHUNK ? len : CHUNK;
        if (!source_read(s->same, s->packed, n) || memcmp(s->packed, bytes, n) != 0)
            return false;
    }
    return s->same || sink_put(s, bytes, len);
}

static bool sink_zeros(struct sink *s, uint64_t n)
{
    static const unsigned char zeros[UNIT];
    for (size_t part; n; n -= part) {
        part = n < UNIT ? (size_t)n : UNIT;
        if (!sink_write(s, zeros, part))
            return false;
    }
    return true;
}

/* What a bundle has, in the order of the bytes. */
struct entry {
    uint64_t offset, size, new;
    char name[NAME_MAX_LEN + 1];
    bool host, stays;
};

struct list {
    struct entry entries[ENTRIES_MAX];
    size_t n;
    uint64_t header; /* bytes of the list */
    bool without;    /* it has nothing for the target */
};

/* The processor of a target, "gfx90a:xnack-"; NULL: it has none. */
static const char *processor_of(const char *name)
{
    const char *gpu = strstr(name, "-gfx");
    bool amd = !strncmp(name, "hip", 3) && strstr(name, "-amdgcn-");
    return amd && gpu ? gpu + 1 : NULL;
}

static bool is_spirv(const char *name)
{
    return !strncmp(name, "hip", 3) && strstr(name, "-spirv");
}

/* Read the list; false with *why. */
static bool read_list(struct source *from, struct list *list, const char **why)
{
    unsigned char head[MAGIC_LEN + 8], row[24];
    *why = MALFORMED;
    if (!source_read(from, head, sizeof(head)) || memcmp(head, MAGIC, MAGIC_LEN) != 0)
        return false;
    uint64_t n = ocv_slim_u64(head + MAGIC_LEN), end = 0;
    if (!n || n > ENTRIES_MAX)
        return false;
    list->n = (size_t)n;
    list->header = sizeof(head);
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        if (!source_read(from, row, sizeof(row)))
            return false;
        *e = (struct entry){.offset = ocv_slim_u64(row), .size = ocv_slim_u64(row + 8)};
        uint64_t len = ocv_slim_u64(row + 16);
        if (len > NAME_MAX_LEN || !source_read(from, (unsigned char *)e->name, (size_t)len) ||
            strlen(e->name) != len || e->offset > INT64_MAX || e->size > INT64_MAX ||
            e->offset < end)
            return false;
        list->header += sizeof(row) + len;
        end = e->offset + e->size;
        e->host = !strncmp(e->name, "host", 4);
        if (!e->host && !processor_of(e->name) && !is_spirv(e->name)) {
            *why = "it has code of a kind that is not known";
            return false;
        }
    }
    *why = list->entries[0].offset < list->header ? MALFORMED : NULL;
    return !*why;
}

/* Decide what stays, and where: in the old order, each at its place within a page. */
static uint64_t choose(struct list *list, const struct ocv_slim_target *target)
{
    const struct entry *smallest = NULL;
    uint64_t header = MAGIC_LEN + 8;
    bool machine = target->n_gfx != 0, any = false;
    for (size_t t = 0; t < target->n_gfx; t++) {
        bool found = false; /* for this processor, whatever features a process has */
        for (size_t i = 0; i < list->n; i++) {
            const char *processor = processor_of(list->entries[i].name);
            if (!processor || !ocv_slim_gfx_runs(processor, target->gfx[t]))
                continue;
            list->entries[i].stays = any = true;
            found = found || !strcmp(processor, target->gfx[t]);
        }
        machine = machine && found;
    }
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        bool spirv = is_spirv(e->name) && target->n_gfx && (!machine || target->keep_ptx);
        any = any || spirv;
        e->stays = e->stays || e->host || spirv;
        if (!e->host && (!smallest || e->size < smallest->size))
            smallest = e;
    }
    list->without = !any && smallest;
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        e->stays = e->stays || (!any && e == smallest);
        header += e->stays ? 24 + strlen(e->name) : 0;
    }
    uint64_t next = header;
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        if (!e->stays)
            continue;
        e->new = (next & ~(uint64_t)(UNIT - 1)) + (e->offset & (UNIT - 1));
        e->new += e->new < next ? UNIT : 0;
        next = e->new + e->size;
    }
    return next;
}

static bool write_list(const struct list *list, struct sink *to)
{
    unsigned char head[MAGIC_LEN + 8] = MAGIC, row[24];
    uint64_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->entries[i].stays;
    ocv_slim_put64(head + MAGIC_LEN, n);
    bool ok = sink_write(to, head, sizeof(head));
    for (size_t i = 0; i < list->n && ok; i++) {
        const struct entry *e = &list->entries[i];
        size_t len = strlen(e->name);
        if (!e->stays)
            continue;
        ocv_slim_put64(row, e->new);
        ocv_slim_put64(row + 8, e->size);
        ocv_slim_put64(row + 16, len);
        ok =
            sink_write(to, row, sizeof(row)) && sink_write(to, (const unsigned char *)e->name, len);
    }
    return ok;
}

/* Pass what stays on. False: the bundle ends early, or what the sink says. */
static bool pass_entries(const struct list *list, struct source *from, struct sink *to,
                         unsigned char *chunk)
{
    uint64_t at = list->header;
    for (size_t i = 0; i < list->n; i++) {
        const struct entry *e = &list->entries[i];
        uint64_t skip = e->offset - at + (e->stays ? 0 : e->size), left = e->stays ? e->size : 0;
        at = e->offset + e->size;
        if (e->stays && !sink_zeros(to, e->new - to->passed))
            return false;
        for (size_t n; skip + left; skip ? (skip -= n) : (left -= n)) {
            uint64_t want = skip ? skip : left;
            n = source_some(from, chunk, want < CHUNK ? (size_t)want : CHUNK);
            if (!n || (!skip && !sink_write(to, chunk, n)))
                return false;
        }
    }
    return true;
}

/* A bundle's bytes end where its last entry does. */
static bool at_end(struct source *from)
{
    unsigned char c;
    return source_some(from, &c, 1) == 0 && !from->left && (!from->inflates || from->ended);
}

struct work {
    struct list list;
    uint64_t size; /* of what stays, not compressed */
    bool whole;    /* that is everything */
    struct source from, same;
    struct sink to;
    unsigned char chunk[CHUNK];
};

static void work_free(struct work **work)
{
    if (!*work)
        return;
    source_close(&(*work)->same);
    source_close(&(*work)->from);
    sink_close(&(*work)->to);
    free(*work);
}

/* The first eight bytes of the sum. */
static uint64_t sum_of(struct sink *to)
{
    unsigned char sum[EVP_MAX_MD_SIZE] = {0};
    EVP_DigestFinal_ex(to->sum, sum, NULL);
    return ocv_slim_u64(sum);
}

/* Read what there is, and decide what stays: NULL, or why that cannot be done. */
static const char *begin(struct work *w, const unsigned char *bundle, uint64_t size,
                         const struct ocv_slim_target *target)
{
    const char *why = source_open(&w->from, bundle, size, target->scratch, 0);
    if (why)
        return why;
    if (!read_list(&w->from, &w->list, &why))
        return w->from.no_memory ? NO_MEMORY : why;
    w->size = choose(&w->list, target);
    w->whole = true;
    for (size_t i = 0; i < w->list.n; i++)
        w->whole = w->whole && w->list.entries[i].stays;
    return NULL;
}

/* Put what stays into the sink; `c` is the header of a bundle that is compressed. */
static const char *pass(struct work *w, const struct ccob *c)
{
    if (!sink_open(&w->to, c) || !write_list(&w->list, &w->to) ||
        !pass_entries(&w->list, &w->from, &w->to, w->chunk) || !at_end(&w->from))
        return w->to.why ? w->to.why : w->from.no_memory ? NO_MEMORY : MALFORMED;
    return w->to.compressed && !sink_deflate(&w->to, NULL, 0, true) ? w->to.why : NULL;
}

uint64_t ocv_slim_bundle_inflated(const unsigned char *bytes, uint64_t len)
{
    struct ccob c;
    return read_ccob(bytes, len, &c) ? c.inflated : 0;
}

uint64_t ocv_slim_bundle_size(const unsigned char *bytes, uint64_t len)
{
    struct ccob c;
    if (read_ccob(bytes, len, &c))
        return c.total;
    if (len < MAGIC_LEN + 8 || memcmp(bytes, MAGIC, MAGIC_LEN) != 0)
        return 0;
    struct source from = {.next = bytes, .left = len};
    const char *why;
    ocv_auto_free struct list *list = malloc(sizeof(*list));
    if (!list || !read_list(&from, list, &why))
        return 0;
    const struct entry *last = &list->entries[list->n - 1];
    return last->offset + last->size <= len ? last->offset + last->size : 0;
}

uint64_t ocv_slim_bundle_cut(const unsigned char *bundle, uint64_t size,
                             const struct ocv_slim_target *target, unsigned char *out,
                             struct ocv_slim_result *result, const char **why)
{
    __attribute__((cleanup(work_free))) struct work *w = calloc(1, sizeof(*w));
    struct ccob c;
    bool compressed = read_ccob(bundle, size, &c);
    uint64_t header = compressed ? c.header : 0;
    *why = w ? begin(w, bundle, size, target) : NO_MEMORY;
    if (*why)
        return 0;
    if (result) {
        result->regions++;
        result->without += w->list.without;
    }
    if (w->whole) {
        if (out)
            memcpy(out, bundle, size);
        return size;
    }
    w->to.out = out ? out + header : NULL;
    w->to.room = size - header;
    *why = pass(w, compressed ? &c : NULL);
    if (*why)
        return 0;
    for (size_t i = 0; result && i < w->list.n; i++) {
        const struct entry *e = &w->list.entries[i];
        const char *processor = processor_of(e->name);
        if (!e->stays)
            ocv_slim_count_removed(result, OCV_CONTENT_HIP_CODE, processor ? processor : "spirv",
                                   e->size);
    }
    c.total = header + w->to.written;
    c.inflated = w->size;
    if (compressed && out) {
        c.hash = sum_of(&w->to);
        write_ccob(out, &c);
    }
    return header + w->to.written;
}

bool ocv_slim_bundle_is_cut(const unsigned char *bundle, uint64_t size,
                            const struct ocv_slim_target *target, const unsigned char *cut,
                            uint64_t cut_size)
{
    __attribute__((cleanup(work_free))) struct work *w = calloc(1, sizeof(*w));
    struct ccob c, now;
    bool compressed = read_ccob(bundle, size, &c);
    if (!w || begin(w, bundle, size, target))
        return false;
    if (w->whole)
        return cut_size == size && !memcmp(cut, bundle, size);
    uint64_t behind = ocv_slim_up(w->from.size, 65536); /* the largest page */
    if (compressed != read_ccob(cut, cut_size, &now) ||
        source_open(&w->same, cut, cut_size, target->scratch, behind))
        return false;
    w->to.same = &w->same;
    if (pass(w, compressed ? &c : NULL) || !at_end(&w->same))
        return false;
    return !compressed ||
           (now.version == c.version && now.method == c.method && now.total == cut_size &&
            now.inflated == w->size && now.hash == sum_of(&w->to));
}
