/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file suggest.h
 * "Did you mean": the nearest of the words that are known.
 */
#ifndef OCIVARIANT_SUGGEST_H
#define OCIVARIANT_SUGGEST_H

#include "ocivariant/attributes.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Looks for the word that was meant by one that is not known, by a typing error or as the
 * beginning of it. Of a version it is never a lower one: "128" is not "12". */
struct ocv_nearest {
    const char *wanted; /**< set by the caller, the rest zero */
    const char *best;
    size_t distance;
};
/** Offer a word; the nearest is kept. */
OCV_API void ocv_nearest_offer(struct ocv_nearest *nearest, const char *word);
/** The nearest one if it is near enough to be meant, else NULL. */
OCV_API const char *ocv_nearest_meant(const struct ocv_nearest *nearest);
/** The same of a list of `n` words. */
OCV_API const char *ocv_nearest(const char *text, const char *const *words, size_t n);

#ifdef __cplusplus
}
#endif
#endif
