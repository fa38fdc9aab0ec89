/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which repositories the rule files of a directory know: DIR/index.json, made when they are
 * installed (plugins/tags.d/index.c), so that a file that has nothing to say need not be parsed.
 * Invariant: a file is skipped only if its bytes are those that the table was made of, and
 * these are tested; whatever an administrator adds or changes is parsed like any other. */
#ifndef OCV_TAGS_TABLE_H
#define OCV_TAGS_TABLE_H

#include "lib/base/format/yaml.h"
#include "ocivariant/buffer.h"

#include <jansson.h>

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
