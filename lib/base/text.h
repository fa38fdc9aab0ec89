/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text that quotes bytes from outside. */
#ifndef OCV_TEXT_H
#define OCV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** a-z and 0-9, whatever the locale. */
static inline bool ocv_text_is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/** Value of a hexadecimal digit, -1 if it is none. */
static inline int ocv_text_hex(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/** Length of the UTF-8 character (RFC 3629) that `text` begins with, 0 if there is none within
 *  `len` bytes. */
size_t ocv_text_character(const void *text, size_t len);
/** The same where that character is not seen or changes how others are seen: a control character
 *  (C0, DEL, C1), a direction override, any other that Unicode calls format or ignorable; else 0.
 */
size_t ocv_text_hidden(const void *text, size_t len);
/** Replace what no terminal or JSON writer should see by '?': hidden characters and bytes that are
 *  no UTF-8, such as a character that a length limit cut in two. */
void ocv_text_clean(char *s);
/** FNV-1a, 64 bits: for tables, where texts that are made to collide do no harm. */
uint64_t ocv_text_hash(const char *text, size_t len);
/** Are they equal? NULL is the empty text. */
bool ocv_text_same(const char *a, const char *b);
/** Does it end so, and is there something before that? */
bool ocv_text_ends(const char *text, const char *end);
/** For qsort and bsearch of an array of texts. */
int ocv_text_order(const void *a, const void *b);
/** Is the word in "a, b, c"? NULL is the empty list. */
bool ocv_text_listed(const char *list, const char *word);
/** The first of `n` globs (`*`, `?` and `[]`, fnmatch) that the whole text matches; `n`: none. */
size_t ocv_text_find_glob(char *const *globs, size_t n, const char *text);

/* Words that are nearly others: what "did you mean" asks. */

/** Edit distance of two words (a swap of neighbours counts one), at most `max` + 1. */
size_t ocv_nearest_distance(const char *a, const char *b, size_t max);

/** Finds the word that an unknown word most likely means: a typing error, or the beginning of it.
 * Never a lower version: "128" is not "12". */
struct ocv_nearest {
    const char *wanted; /**< set by the caller, the rest zero */
    const char *best;
    size_t distance;
};
/** Offer a word; the nearest is kept. */
void ocv_nearest_offer(struct ocv_nearest *nearest, const char *word);
/** The nearest one if it is near enough to be meant, else NULL. */
const char *ocv_nearest_meant(const struct ocv_nearest *nearest);
/** The same of a list of `n` words. */
const char *ocv_nearest(const char *text, const char *const *words, size_t n);

#define OCV_NEAREST_QUESTION_MAX 96u
/** "; did you mean 'nvidia'?", or nothing where `meant` is NULL or empty: the end of a message.
 *  Returns `out`. */
const char *ocv_nearest_question(const char *meant, char out[OCV_NEAREST_QUESTION_MAX]);

#endif
