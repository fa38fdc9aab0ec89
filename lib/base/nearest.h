/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Words that are nearly others: what "did you mean" asks. */
#ifndef OCV_NEAREST_H
#define OCV_NEAREST_H

#include <stddef.h>

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
