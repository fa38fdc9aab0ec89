/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* tags-index FILE.yaml...: prints the table of these rule files (lib/internal/tags/rules/read.h).
 * Run by the build, only for files of one directory. */
#include "lib/internal/tags/rules/read.h"
#include "lib/internal/tags/tags_internal.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    json_t *files = json_object();
    for (int i = 1; i < argc; i++) {
        struct ocv_yaml *tree = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_TAG_RULES_BYTES_MAX);
        int status = ocv_tag_file_read(argv[i], &text, &err);
        if (status == OCV_OK)
            status = ocv_yaml_read(argv[i], text.data ? text.data : "", text.len, &tree, &err);
        json_t *entry = status == OCV_OK ? ocv_tag_table_entry(&text, tree) : NULL;
        ocv_yaml_free(tree);
        if (entry && json_object_set_new(files, basename(argv[i]), entry) < 0)
            status = ocv_error_nomem(&err);
        if (status < 0) {
            fprintf(stderr, "tags-index: %s\n", err.message);
            return 1;
        }
    }
    json_t *root = json_pack("{s:s, s:o}", "schema", OCV_TAG_TABLE_SCHEMA, "files", files);
    int failed = !root || json_dumpf(root, stdout, JSON_COMPACT | JSON_SORT_KEYS) < 0 ||
                 putchar('\n') == EOF || fflush(stdout) != 0;
    json_decref(root);
    return failed ? 1 : 0;
}
