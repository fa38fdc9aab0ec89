/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading a rule file: each function takes a value out of a mapping and says FILE:LINE where it is
 * not what it must be. What is read belongs to the family's arena. */
#ifndef OCV_TAGS_READ_H
#define OCV_TAGS_READ_H

#include "lib/tags/tags_internal.h"

struct ocv_tag_reader {
    const struct ocv_tag_rules *rules; /**< for their notations */
    const char *source;
    struct ocv_tag_family *family;
    struct ocv_error *err;
};

/** Fill the error: "FILE:LINE: KEY: what". Returns OCV_ERR_CONFIG. */
int ocv_tag_read_complain(const struct ocv_tag_reader *r, const struct ocv_yaml *node,
                          const char *what);
/** A mapping of these keys only; the list ends with NULL. */
int ocv_tag_read_keys(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *const *known) OCV_WARN_UNUSED;
/** NULL where the key is not there, as below. */
int ocv_tag_read_text(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                      const char **out) OCV_WARN_UNUSED;
int ocv_tag_read_flag(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                      bool *out) OCV_WARN_UNUSED;
int ocv_tag_read_texts(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *const **out, size_t *n) OCV_WARN_UNUSED;
/** A text, as a list of one. */
int ocv_tag_read_one(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                     const char *const **out, size_t *n) OCV_WARN_UNUSED;
/** `gives` and `assumes`: templates of properties. */
int ocv_tag_read_properties(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const char *key, const struct ocv_tag_pair **out,
                            size_t *n) OCV_WARN_UNUSED;
/** `KEY: {a: x, b: y}`, or where `shorthand` is set also `KEY: a` for {a: shorthand}. */
int ocv_tag_read_pairs(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *shorthand, const struct ocv_tag_pair **out,
                       size_t *n) OCV_WARN_UNUSED;
/** `where`: groups and the patterns of their whole values. */
int ocv_tag_read_where(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_where *out) OCV_WARN_UNUSED;
/** Is the mapping's `platform`, if any, one? */
int ocv_tag_read_platform(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                          const char *name) OCV_WARN_UNUSED;
/** A part; `separators` NULL: a pattern over the whole name of a repository. `kind`: unless it says
 *  another. */
int ocv_tag_read_part(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                      const char *separators, const char *kind,
                      struct ocv_tag_item *out) OCV_WARN_UNUSED;
/** All `parts` of the family, notations included. */
int ocv_tag_read_parts(const struct ocv_tag_reader *r, const struct ocv_yaml *tree) OCV_WARN_UNUSED;
/** `cuda` of the family: minor, strict, or a list of tables. */
int ocv_tag_read_cuda(const struct ocv_tag_reader *r, const struct ocv_yaml *tree) OCV_WARN_UNUSED;
/** Does the part's template ask for what its pattern captures? `frame`: parentheses of the frame
 *  that the pattern was put into. */
int ocv_tag_read_check_part(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const struct ocv_tag_item *item, size_t frame) OCV_WARN_UNUSED;
/** Of a family that was read: does each name that it uses stand for something? */
int ocv_tag_read_check(const struct ocv_tag_reader *r, const struct ocv_yaml *tree) OCV_WARN_UNUSED;

#endif
