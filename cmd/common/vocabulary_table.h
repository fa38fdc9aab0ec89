/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vocabulary as a table with meanings (schema/vocabulary.yaml). libocivariant's
 * ocv_vocabulary_check only tells whether a word is known. */
#ifndef OCV_VOCABULARY_TABLE_H
#define OCV_VOCABULARY_TABLE_H

#include <stddef.h>

/** Joined by commas: values, `documented` (values that no provider reports yet, "*": all) and
 *  product names ("h100=90_real"). brief: a template, "CUDA {}", or NULL. */
struct vocabulary_feature {
    const char *name, *values, *pattern, *documented, *meaning, *example, *names, *brief;
};

/** provider: a file name, "" if built in, NULL if there is none yet. */
struct vocabulary_namespace {
    const char *name, *kind, *meaning, *provider;
    size_t first, n;
};

/** The i-th namespace, or NULL. */
const struct vocabulary_namespace *vocabulary_namespace_at(size_t i);
/** The namespace of that name, or NULL. */
const struct vocabulary_namespace *vocabulary_namespace_find(const char *name);
/** Feature `i` of the namespace; `i` is below its `n`. */
const struct vocabulary_feature *vocabulary_feature_at(const struct vocabulary_namespace *ns,
                                                       size_t i);
/** The feature of that name, or NULL. */
const struct vocabulary_feature *vocabulary_feature_find(const struct vocabulary_namespace *ns,
                                                         const char *name);

#endif
