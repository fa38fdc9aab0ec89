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
#include <zstd.h>

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define ENTRIES_MAX 256u
#define NAME_MAX_LEN 256u
#define UNIT 4096u /* an entry keeps its place within a page */
#define CHUNK ((size_t)64 << 10)
#define PAGE_MAX 65536u /* of any machine */
#define ZSTD_LEVEL 3    /* as clang's default */

/* Where what stays goes: into memory, as it is or compressed; or nowhere, to know its size; or to
 * be compared with a bundle that is there. */
struct sink {
    unsigned char *out; /* may be NULL */
    uint64_t room;      /* bytes that may be written */
    uint64_t written;   /* of these */
    uint64_t passed;    /* bytes of the bundle, not compressed */
    struct ocv_slim_source *same;
    bool compressed;
    enum ocv_slim_method method;
    z_stream zlib;
    ZSTD_CStream *zstd;
    EVP_MD_CTX *sum;
    unsigned char packed[CHUNK]; /* what the compressor gives, or what is compared */
    const char *why;
};

static bool sink_open(struct sink *s, const struct ocv_slim_ccob *c)
{
    s->why = OCV_SLIM_NO_MEMORY;
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
        if (c->method == OCV_SLIM_ZLIB && deflateInit(&s->zlib, Z_DEFAULT_COMPRESSION) != Z_OK)
            return false;
        if (c->method == OCV_SLIM_ZSTD &&
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
        if (s->method == OCV_SLIM_ZLIB) {
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
                s->why = OCV_SLIM_NO_MEMORY;
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
        if (!ocv_slim_source_read(s->same, s->packed, n) || memcmp(s->packed, bytes, n) != 0)
            return false;
    }
    return s->same || sink_put(s, bytes, len);
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
static bool read_list(struct ocv_slim_source *from, struct list *list, const char **why)
{
    unsigned char head[MAGIC_LEN + 8], row[24];
    *why = OCV_SLIM_MALFORMED;
    if (!ocv_slim_source_read(from, head, sizeof(head)) || memcmp(head, MAGIC, MAGIC_LEN) != 0)
        return false;
    uint64_t n = ocv_slim_u64(head + MAGIC_LEN), end = 0;
    if (!n || n > ENTRIES_MAX)
        return false;
    list->n = (size_t)n;
    list->header = sizeof(head);
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        if (!ocv_slim_source_read(from, row, sizeof(row)))
            return false;
        *e = (struct entry){.offset = ocv_slim_u64(row), .size = ocv_slim_u64(row + 8)};
        uint64_t len = ocv_slim_u64(row + 16);
        if (len > NAME_MAX_LEN ||
            !ocv_slim_source_read(from, (unsigned char *)e->name, (size_t)len) ||
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
    *why = list->entries[0].offset < list->header ? OCV_SLIM_MALFORMED : NULL;
    return !*why;
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
static bool pass_entries(const struct list *list, struct ocv_slim_source *from, struct sink *to,
                         unsigned char *chunk)
{
    static const unsigned char zeros[UNIT];
    uint64_t at = list->header;
    for (size_t i = 0; i < list->n; i++) {
        const struct entry *e = &list->entries[i];
        uint64_t skip = e->offset - at + (e->stays ? 0 : e->size), left = e->stays ? e->size : 0;
        at = e->offset + e->size;
        for (uint64_t gap = e->stays ? e->new - to->passed : 0, n; gap; gap -= n) {
            n = gap < UNIT ? gap : UNIT;
            if (!sink_write(to, zeros, (size_t)n))
                return false;
        }
        for (size_t n; skip + left; skip ? (skip -= n) : (left -= n)) {
            uint64_t want = skip ? skip : left;
            n = ocv_slim_source_some(from, chunk, want < CHUNK ? (size_t)want : CHUNK);
            if (!n || (!skip && !sink_write(to, chunk, n)))
                return false;
        }
    }
    return true;
}

/* A bundle's bytes end where its last entry does. */
static bool at_end(struct ocv_slim_source *from)
{
    unsigned char c;
    return ocv_slim_source_some(from, &c, 1) == 0 && !from->left &&
           (!from->inflates || from->ended);
}

struct work {
    struct list list;
    uint64_t size; /* of what stays, not compressed */
    bool whole;    /* that is everything */
    struct ocv_slim_source from, same;
    struct sink to;
    unsigned char chunk[CHUNK];
};

static void work_free(struct work **work)
{
    if (!*work)
        return;
    ocv_slim_source_close(&(*work)->from);
    ocv_slim_source_close(&(*work)->same);
    struct sink *to = &(*work)->to;
    if (to->compressed && to->method == OCV_SLIM_ZLIB)
        deflateEnd(&to->zlib);
    ZSTD_freeCStream(to->zstd);
    EVP_MD_CTX_free(to->sum);
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
    const char *why = ocv_slim_source_open(&w->from, bundle, size, target->scratch, 0);
    if (why)
        return why;
    if (!read_list(&w->from, &w->list, &why))
        return w->from.no_memory ? OCV_SLIM_NO_MEMORY : why;

    /* What stays, and where: in the old order, each at its place within a page. */
    struct list *list = &w->list;
    const struct entry *smallest = NULL;
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
    w->size = MAGIC_LEN + 8;
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        e->stays = e->stays || (!any && e == smallest);
        w->size += e->stays ? 24 + strlen(e->name) : 0;
    }
    w->whole = true;
    for (size_t i = 0; i < list->n; i++) {
        struct entry *e = &list->entries[i];
        w->whole = w->whole && e->stays;
        if (!e->stays)
            continue;
        e->new = (w->size & ~(uint64_t)(UNIT - 1)) + (e->offset & (UNIT - 1));
        e->new += e->new < w->size ? UNIT : 0;
        w->size = e->new + e->size;
    }
    return NULL;
}

/* Put what stays into the sink; `c` is the header of a bundle that is compressed. */
static const char *pass(struct work *w, const struct ocv_slim_ccob *c)
{
    if (!sink_open(&w->to, c) || !write_list(&w->list, &w->to) ||
        !pass_entries(&w->list, &w->from, &w->to, w->chunk) || !at_end(&w->from))
        return w->to.why ? w->to.why : w->from.no_memory ? OCV_SLIM_NO_MEMORY : OCV_SLIM_MALFORMED;
    return w->to.compressed && !sink_deflate(&w->to, NULL, 0, true) ? w->to.why : NULL;
}

uint64_t ocv_slim_bundle_inflated(const unsigned char *bytes, uint64_t len)
{
    struct ocv_slim_ccob c;
    return ocv_slim_ccob_read(bytes, len, &c) ? c.inflated : 0;
}

uint64_t ocv_slim_bundle_scratch(const unsigned char *bytes, uint64_t len)
{
    struct ocv_slim_ccob c;
    return ocv_slim_ccob_read(bytes, len, &c) && c.method == OCV_SLIM_ZSTD
               ? 2 * ocv_slim_up(c.inflated, PAGE_MAX)
               : 0;
}

uint64_t ocv_slim_bundle_size(const unsigned char *bytes, uint64_t len)
{
    struct ocv_slim_ccob c;
    if (ocv_slim_ccob_read(bytes, len, &c))
        return c.total;
    if (len < MAGIC_LEN + 8 || memcmp(bytes, MAGIC, MAGIC_LEN) != 0)
        return 0;
    struct ocv_slim_source from = {.next = bytes, .left = len};
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
    struct ocv_slim_ccob c;
    bool compressed = ocv_slim_ccob_read(bundle, size, &c);
    uint64_t header = compressed ? c.header : 0;
    *why = w ? begin(w, bundle, size, target) : OCV_SLIM_NO_MEMORY;
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
        ocv_slim_ccob_write(out, &c);
    }
    return header + w->to.written;
}

bool ocv_slim_bundle_is_cut(const unsigned char *bundle, uint64_t size,
                            const struct ocv_slim_target *target, const unsigned char *cut,
                            uint64_t cut_size)
{
    __attribute__((cleanup(work_free))) struct work *w = calloc(1, sizeof(*w));
    struct ocv_slim_ccob c, now;
    bool compressed = ocv_slim_ccob_read(bundle, size, &c);
    if (!w || begin(w, bundle, size, target))
        return false;
    if (w->whole)
        return cut_size == size && !memcmp(cut, bundle, size);
    if (compressed != ocv_slim_ccob_read(cut, cut_size, &now) ||
        ocv_slim_source_open(&w->same, cut, cut_size, target->scratch,
                             ocv_slim_up(w->from.size, PAGE_MAX)))
        return false;
    w->to.same = &w->same;
    if (pass(w, compressed ? &c : NULL) || !at_end(&w->same))
        return false;
    return !compressed ||
           (now.version == c.version && now.method == c.method && now.total == cut_size &&
            now.inflated == w->size && now.hash == sum_of(&w->to));
}
