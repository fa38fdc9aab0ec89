/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The string tables of a file stand before the tables that point into them. So strings that may be
 * wanted are kept with their places while they pass. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/internal/content/reader/reader.h"

#include <string.h>

#define WORDS_MAX 65536u

/* Each wanted string has one of these in it; few bytes of a file are the first of one. */
static const char *const marks[] = {
    ".so",         "GLIBC",
    ".nv_fatbin",  "bin", /* __nv_relfatbin */
    ".hip_fatbin", ".note.cuda.fwd_compatibility",
    OCV_KPACK_REF, "FFLOAD_BUNDLE__",
};
static const char first_letters[] = ".GbF";
#define LETTERS (sizeof(first_letters) - 1)

static bool is_mark(const char *at, size_t len)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t n = 0; /* most differ in their first bytes: no call for those */
        while (n < len && marks[i][n] && at[n] == marks[i][n])
            n++;
        if (!marks[i][n])
            return true;
    }
    return false;
}

/* Section names may be the ends of longer strings. */
static bool is_wanted(const char *text, size_t len)
{
    static const char *const ends[] = {"fatbin", ".fwd_compatibility", OCV_KPACK_REF};
    const char *so = memmem(text, len, ".so", 3);
    bool wanted = (so && (so + 3 == text + len || so[3] == '.')) ||
                  (len > 5 && !memcmp(text, "GLIBC", 5)) ||
                  memmem(text, len, OCV_BUNDLE_MAGIC, OCV_BUNDLE_MAGIC_LEN);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !wanted; i++) {
        size_t n = strlen(ends[i]);
        wanted = len >= n && !memcmp(text + len - n, ends[i], n);
    }
    return wanted;
}

static bool is_printable(char c)
{
    return c > ' ' && c <= '~';
}

int ocv_words_scan(struct ocv_content_reader *r, int64_t upto, bool ends, struct ocv_error *err)
{
    size_t have;
    int64_t start = r->words_next - (int64_t)OCV_CONTENT_WORD_MAX - 1;
    if (start < r->words_floor)
        start = r->words_floor;
    if (upto <= start)
        return OCV_OK;
    const char *text = (const char *)ocv_window_at(r, start, &have);
    size_t len = (size_t)(upto - start);
    if (len > have)
        len = have;
    size_t to = ends ? len : len > OCV_CONTENT_WORD_MAX ? len - OCV_CONTENT_WORD_MAX - 1 : 0;
    size_t from = (size_t)(r->words_next - start);
    if (from >= to)
        return OCV_OK;
    const char *next[LETTERS] = {text, text, text, text};
    const char *cursor = text + from, *stop = text + to, *limit = text + len;
    while (cursor < stop) {
        const char *at = stop;
        for (size_t i = 0; i < LETTERS; i++) {
            if (next[i] && next[i] < stop && (next[i] < cursor || *next[i] != first_letters[i]))
                next[i] = *cursor == first_letters[i]
                              ? cursor
                              : memchr(cursor, first_letters[i], (size_t)(stop - cursor));
            if (next[i] && next[i] < at)
                at = next[i];
        }
        if (at == stop)
            break;
        cursor = at + 1;
        if (!is_mark(at, (size_t)(limit - at)))
            continue;
        /* The string around it begins after a NUL or at the begin of what is searched, and ends
         * before a NUL. */
        const char *begin = at, *end = at;
        while (begin > text && at - begin < (ptrdiff_t)OCV_CONTENT_WORD_MAX &&
               is_printable(begin[-1]))
            begin--;
        while (end < limit && end - at < (ptrdiff_t)OCV_CONTENT_WORD_MAX && is_printable(*end))
            end++;
        if (end == limit || *end || (begin > text && begin[-1]) ||
            !is_wanted(begin, (size_t)(end - begin)))
            continue;
        cursor = end;
        if (r->n_words >= WORDS_MAX) {
            ocv_content_unseen(r, "names of libraries: too many");
            continue;
        }
        const char *copy = ocv_arena_copy(&r->arena, begin, (size_t)(end - begin));
        struct ocv_content_word *word = copy ? ocv_array_grow(&r->words, r->n_words) : NULL;
        if (!word)
            return ocv_error_nomem(err);
        *word = (struct ocv_content_word){start + (begin - text), copy};
        r->n_words++;
    }
    r->words_next = start + ((cursor > stop ? cursor : stop) - text);
    return OCV_OK;
}

const char *ocv_words_at(const struct ocv_content_reader *r, int64_t offset)
{
    size_t low = 0, high = r->n_words;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->words[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct ocv_content_word *it = &r->words[low - 1];
    return offset - it->offset < (int64_t)strlen(it->text) ? it->text + (offset - it->offset)
                                                           : NULL;
}
