/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading a rule file that its table has let through: what a family holds, taken out of its tree.
 * Texts are borrowed from the tree, which the family keeps, or from that of a notation. */
#ifndef OCV_TAGS_READ_H
#define OCV_TAGS_READ_H

#include "lib/base/format/yaml.h"
#include "lib/internal/tags/tags_internal.h"
#include "ocivariant/buffer.h"

#include <jansson.h>

/** What a rule file may hold, and a part of a notation. */
extern const struct ocv_yaml_rule ocv_tag_rules_rule, ocv_tag_part_rule;

struct ocv_tag_reader {
    const struct ocv_tag_rules *rules; /**< for their notations */
    struct ocv_yaml_reader file;
    struct ocv_tag_family *family;
};

/** A text, or the texts of a list; none where the key is not there, as below. */
int ocv_tag_read_texts(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *const **out, size_t *n) OCV_WARN_UNUSED;
/** `gives` and `assumes`: templates of properties. */
int ocv_tag_read_properties(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                            const char *key, const struct ocv_tag_pair **out,
                            size_t *n) OCV_WARN_UNUSED;
/** `KEY: {a: x, b: y}`, or `KEY: a` for {a: shorthand}. */
int ocv_tag_read_pairs(const struct ocv_tag_reader *r, const struct ocv_yaml *map, const char *key,
                       const char *shorthand, const struct ocv_tag_pair **out,
                       size_t *n) OCV_WARN_UNUSED;
/** `where`: groups and the patterns of their whole values. */
int ocv_tag_read_where(const struct ocv_tag_reader *r, const struct ocv_yaml *map,
                       struct ocv_tag_where *out) OCV_WARN_UNUSED;
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
/** Is each name that the family uses defined? */
int ocv_tag_read_check(const struct ocv_tag_reader *r, const struct ocv_yaml *tree) OCV_WARN_UNUSED;

/* Which repositories the rule files of a directory know: DIR/index.json, made when they are
 * installed (plugins/tags.d/index.c), so that a file that has nothing to say need not be parsed.
 * Invariant: a file is skipped only if its bytes are those that the table was made of, and
 * these are tested; whatever an administrator adds or changes is parsed like any other. */

#define OCV_TAG_TABLE_NAME "index.json"
#define OCV_TAG_TABLE_SCHEMA "dev.ocivariant.tag-index/v1"
#define OCV_TAG_TABLE_BYTES_MAX (256u * 1024)

/** The table of a directory; NULL where there is none that can be used. */
json_t *ocv_tag_table_read(const char *dir);
/** Is this file of the directory in the table, and can it not know the repository? `table` may be
 *  NULL. */
bool ocv_tag_table_rules_out(const json_t *table, const char *file, const struct ocv_buffer *text,
                             const char *repository);
/** What the table says of a file: its digest and its patterns. NULL: nothing, it is always read. */
json_t *ocv_tag_table_entry(const struct ocv_buffer *text, const struct ocv_yaml *tree);

#endif
