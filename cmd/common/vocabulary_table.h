/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vocabulary as a table (schema/vocabulary.yaml): what its words mean, beside libocivariant's
 * ocv_vocabulary_check, which tells whether one is known. */
#ifndef OCV_VOCABULARY_TABLE_H
#define OCV_VOCABULARY_TABLE_H

#include <stddef.h>

/** Values, `documented` (those that no provider reports yet, "*": all) and names of products
 *  ("h100=90_real") are joined by commas. */
struct vocabulary_feature {
    const char *name, *values, *pattern, *documented, *meaning, *example, *names;
};

/** provider: a file's name, "": built in, NULL: none yet. */
struct vocabulary_namespace {
    const char *name, *kind, *meaning, *provider;
    size_t first, n;
};

/** The namespace at a place, NULL past the last. */
const struct vocabulary_namespace *vocabulary_namespace_at(size_t i);
/** The one of that name, or NULL. */
const struct vocabulary_namespace *vocabulary_namespace_find(const char *name);
/** A feature of it, `i` below its `n`. */
const struct vocabulary_feature *vocabulary_feature_at(const struct vocabulary_namespace *ns,
                                                       size_t i);
/** The one of that name, or NULL. */
const struct vocabulary_feature *vocabulary_feature_find(const struct vocabulary_namespace *ns,
                                                         const char *name);

#endif
