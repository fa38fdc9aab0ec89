/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUID as a table of answers: read from the processor or from a file, looked up alike. */
#include "lib/probe/cpu/cpuid.h"
#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "ocivariant/buffer.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define LEAF1_ECX_OSXSAVE (1u << 27)

static int by_leaf(const void *a, const void *b)
{
    const struct ocv_cpuid_row *x = a, *y = b;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return x->subleaf == y->subleaf ? 0 : x->subleaf < y->subleaf ? -1 : 1;
}

static uint32_t raw_word(const struct ocv_cpuid *cpuid, uint32_t leaf, uint32_t subleaf,
                         enum ocv_register reg)
{
    const struct ocv_cpuid_row key = {.leaf = leaf, .subleaf = subleaf}, *row = NULL;
    if (cpuid->n)
        row = bsearch(&key, cpuid->rows, cpuid->n, sizeof(key), by_leaf);
    return row ? row->registers[reg] : 0;
}

uint32_t ocv_cpuid_word(const struct ocv_cpuid *cpuid, uint32_t leaf, uint32_t subleaf,
                        enum ocv_register reg)
{
    if (leaf > raw_word(cpuid, leaf & 0x80000000u, 0, OCV_EAX))
        return 0;
    if (leaf == 7 && subleaf > raw_word(cpuid, 7, 0, OCV_EAX))
        return 0;
    return raw_word(cpuid, leaf, subleaf, reg);
}

uint64_t ocv_cpuid_xcr0(const struct ocv_cpuid *cpuid)
{
    if (!(ocv_cpuid_word(cpuid, 1, 0, OCV_ECX) & LEAF1_ECX_OSXSAVE))
        return 0;
    return cpuid->has_xcr0 ? cpuid->xcr0 : UINT64_MAX;
}

void ocv_cpuid_free(struct ocv_cpuid *cpuid)
{
    free(cpuid->rows);
    *cpuid = (struct ocv_cpuid){0};
}

#if defined(__x86_64__) || defined(__i386__)
int ocv_cpuid_live(const uint32_t (*leaves)[2], size_t n, struct ocv_cpuid *out,
                   struct ocv_error *err)
{
    struct ocv_cpuid cpuid = {.rows = calloc(n, sizeof(*cpuid.rows)), .n = n, .has_xcr0 = true};
    if (!cpuid.rows)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        struct ocv_cpuid_row *row = &cpuid.rows[i];
        uint32_t *r = row->registers;
        row->leaf = leaves[i][0];
        row->subleaf = leaves[i][1];
        __cpuid_count(row->leaf, row->subleaf, r[0], r[1], r[2], r[3]);
    }
    qsort(cpuid.rows, n, sizeof(*cpuid.rows), by_leaf);
    /* XGETBV is an invalid instruction until the operating system has set OSXSAVE */
    if (ocv_cpuid_word(&cpuid, 1, 0, OCV_ECX) & LEAF1_ECX_OSXSAVE) {
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        cpuid.xcr0 = (uint64_t)high << 32 | low;
    }
    *out = cpuid;
    return OCV_OK;
}
#else
int ocv_cpuid_live(const uint32_t (*leaves)[2], size_t n, struct ocv_cpuid *out,
                   struct ocv_error *err)
{
    (void)leaves, (void)n, (void)out;
    return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "this processor has no CPUID");
}
#endif

/* What is left of a line, and its place for messages. */
struct line {
    const char *source;
    size_t number;
    const char *at;
    const char *end;
};

static int parse_hex(const struct line *line, const char *word, size_t len, size_t digits,
                     uint64_t *out, struct ocv_error *err)
{
    uint64_t value = 0;
    size_t i = len > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X') ? 2 : 0;
    bool good = len > i && len - i <= digits;
    for (; good && i < len; i++) {
        char c = word[i];
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint64_t)(c - 'A' + 10)
                                                : 16;
        good = digit < 16;
        value = value << 4 | digit;
    }
    if (!good)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "%s:%zu: \"%.*s\" is not a word of 1 to %zu "
                             "hexadecimal digits",
                             line->source, line->number, (int)(len < 40 ? len : 40), word, digits);
    *out = value;
    return OCV_OK;
}

static int end_of_line(struct line *line, struct ocv_error *err)
{
    const char *word;
    size_t len = ocv_cpuinfo_word(&line->at, line->end, &word);
    if (len > 0)
        return ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: \"%.*s\" is one column too many",
                             line->source, line->number, (int)(len < 40 ? len : 40), word);
    return OCV_OK;
}

static int parse_line(struct line *line, struct ocv_cpuid *cpuid, struct ocv_error *err)
{
    uint64_t columns[6] = {0};
    const char *word;
    for (size_t i = 0; i < 6; i++) {
        size_t len = ocv_cpuinfo_word(&line->at, line->end, &word);
        if (len == 0 && i == 0)
            return OCV_OK;
        if (len == 0)
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "%s:%zu: %zu columns; expected LEAF SUBLEAF EAX EBX ECX EDX",
                                 line->source, line->number, i);
        if (i == 0 && len == 4 && memcmp(word, "xcr0", 4) == 0) {
            if ((len = ocv_cpuinfo_word(&line->at, line->end, &word)) == 0)
                return ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: xcr0 has no value", line->source,
                                     line->number);
            if (cpuid->has_xcr0)
                return ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: duplicate xcr0", line->source,
                                     line->number);
            cpuid->has_xcr0 = true;
            OCV_TRY(parse_hex(line, word, len, 16, &cpuid->xcr0, err));
            return end_of_line(line, err);
        }
        OCV_TRY(parse_hex(line, word, len, 8, &columns[i], err));
    }
    OCV_TRY(end_of_line(line, err));
    if (cpuid->n == OCV_CPUID_ROWS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: more than %u leaves", line->source,
                             line->number, OCV_CPUID_ROWS_MAX);
    struct ocv_cpuid_row *row = ocv_array_grow(&cpuid->rows, cpuid->n);
    if (!row)
        return ocv_error_nomem(err);
    cpuid->n++;
    row->leaf = (uint32_t)columns[0];
    row->subleaf = (uint32_t)columns[1];
    for (size_t i = 0; i < 4; i++)
        row->registers[i] = (uint32_t)columns[2 + i];
    return OCV_OK;
}

int ocv_cpuid_parse(const char *source, const char *text, size_t len, struct ocv_cpuid *out,
                    struct ocv_error *err)
{
    struct ocv_cpuid cpuid = {0};
    struct line line = {.source = source};
    int status = OCV_OK;
    for (const char *end = text + len; status == OCV_OK && text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        line.number++;
        line.at = text;
        line.end = newline ? newline : end;
        text = newline ? newline + 1 : end;
        const char *comment = memchr(line.at, '#', (size_t)(line.end - line.at));
        if (comment)
            line.end = comment;
        status = parse_line(&line, &cpuid, err);
    }
    if (status == OCV_OK && !cpuid.rows)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: no CPUID leaf in it", source);
    if (status == OCV_OK)
        qsort(cpuid.rows, cpuid.n, sizeof(*cpuid.rows), by_leaf);
    for (size_t i = 1; status == OCV_OK && i < cpuid.n; i++)
        if (by_leaf(&cpuid.rows[i - 1], &cpuid.rows[i]) == 0)
            status = ocv_error_set(err, OCV_ERR_DATA, "%s: duplicate leaf %08x subleaf %08x",
                                   source, cpuid.rows[i].leaf, cpuid.rows[i].subleaf);
    if (status < 0) {
        ocv_cpuid_free(&cpuid);
        return status;
    }
    *out = cpuid;
    return OCV_OK;
}

int ocv_cpuid_read(const char *path, struct ocv_cpuid *out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CPUID_FILE_MAX);
    OCV_TRY(ocv_file_read(path, OCV_FILE_ANY, &text, err));
    return ocv_cpuid_parse(path, text.data ? text.data : "", text.len, out, err);
}
