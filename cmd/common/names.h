/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks names that select something: an unknown name ends the command, with a suggestion. */
#ifndef OCV_NAMES_H
#define OCV_NAMES_H

#include "cmd/common/cli.h"
#include "ocivariant-probe.h"

#include <stddef.h>

/** Check the names in `config` against all known names and the index (may be NULL). `profile` is
 *  the host's, without overrides; NULL: no single host. An unknown name is OCV_ERR_CONFIG. A name
 *  that is known but not on this host is an error in flags and variables, and a warning in a file,
 *  which many hosts may share. Without an index, any unknown name in a file is only a warning. */
int names_check(struct cli *cli, const struct ocv_config *config, const struct ocv_profile *profile,
                const struct ocv_index *index, struct ocv_error *err) OCV_WARN_UNUSED;
/** The label that is meant: "default" means null if no entry has that label. `label` may be
 *  NULL. */
const char *names_label(const struct ocv_index *index, const char *label);
/** Check that an entry has the label, which may be NULL; `image` is its name. OCV_ERR_CONFIG if
 * none has. */
int names_check_label(const char *image, const struct ocv_index *index, const char *label,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Nothing was chosen: explain why and what to do. `image` is its name; `reference` may be NULL;
 *  `tag` is the tag that a tag rule took for several ones, if it is there itself, else NULL.
 *  OCV_ERR_NO_MATCH, or OCV_ERR_CONFIG for a label given on the command line that the image
 *  lacks. */
int names_no_match(const struct cli *cli, const char *image, const struct ocv_reference *reference,
                   const struct ocv_index *index, const struct ocv_decision *decision,
                   const char *tag, struct ocv_error *err);

/* Namespaces of the installed providers, including those that find nothing on this host. */

#define INSTALLED_MAX 256u              /**< namespaces */
#define INSTALLED_TEXT_MAX (64u * 1024) /**< bytes of their names */

/** Fill `list`, whose names point into `text`, and return how many there are; 0 if they cannot be
 *  read. Parses provider files that the build did not know, so call it only for a name that is
 *  unknown otherwise. */
size_t installed_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *text,
                            const char *list[INSTALLED_MAX]);

/* The vocabulary as a table with meanings (schema/vocabulary.yaml). libocivariant's
 * ocv_vocabulary_check only tells whether a word is known. */

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
