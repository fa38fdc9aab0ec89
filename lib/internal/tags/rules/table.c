/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/tags/rules/read.h"

#include "lib/base/format/json.h"
#include "lib/internal/tags/tags_internal.h"

#include <stdio.h>
#include <string.h>

json_t *ocv_tag_table_read(const char *dir)
{
    char path[4096];
    json_t *root = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_TAG_TABLE_BYTES_MAX);
    snprintf(path, sizeof(path), "%s/" OCV_TAG_TABLE_NAME, dir);
    if (ocv_tag_file_read(path, &text, NULL) < 0 ||
        ocv_json_load("index of tag rules", text.data, text.len, text.max, &root, NULL) < 0)
        return NULL;
    const char *schema = ocv_json_text(root, "schema");
    if (schema && !strcmp(schema, OCV_TAG_TABLE_SCHEMA))
        return root;
    json_decref(root);
    return NULL;
}

bool ocv_tag_table_rules_out(const json_t *table, const char *file, const struct ocv_buffer *text,
                             const char *repository)
{
    size_t i;
    const json_t *entry = json_object_get(json_object_get(table, "files"), file), *pattern;
    const json_t *patterns = json_object_get(entry, "repositories");
    const char *digest = ocv_json_text(entry, "digest");
    if (!digest || !json_is_array(patterns) ||
        ocv_digest_check(digest, text->data ? text->data : "", text->len, NULL) < 0)
        return false;
    json_array_foreach(patterns, i, pattern)
    {
        const char *glob = ocv_json_text(pattern, "glob"), *match = ocv_json_text(pattern, "match");
        if (glob ? ocv_tag_glob(glob, repository)
                 : !match || ocv_tag_pattern_may(match, repository))
            return false;
    }
    return true;
}

json_t *ocv_tag_table_entry(const struct ocv_buffer *text, const struct ocv_yaml *tree)
{
    char digest[OCV_DIGEST_MAX];
    const struct ocv_yaml *list = ocv_yaml_get(tree, "repositories");
    if (!list || ocv_yaml_get(tree, "notations") ||
        ocv_digest_bytes(text->data ? text->data : "", text->len, digest, NULL) < 0)
        return NULL;
    ocv_auto_json *patterns = json_array();
    for (const struct ocv_yaml *m = list->first; m; m = m->next) {
        const char *match = ocv_yaml_text(m, "match"); /* without one it may know all */
        json_t *pattern = m->type == OCV_YAML_SCALAR ? json_pack("{s:s}", "glob", m->text)
                                                     : json_pack("{s:s*}", "match", match);
        if (json_array_append_new(patterns, pattern) < 0)
            return NULL;
    }
    return json_pack("{s:s, s:O}", "digest", digest, "repositories", patterns);
}
