/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as index.json: an accepted one can be searched, iterated and tagged, and the tag is
 * found again in the bytes to write. */
#include "lib/layout/layout_internal.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *data, const char *tag, const char *image_name,
                 const struct ocv_descriptor *descriptor)
{
    (void)tag, (void)image_name;
    if (!ocv_digest_known(descriptor->digest) || descriptor->size < 0)
        __builtin_trap();
    *(size_t *)data += 1;
    return 0;
}

static void check_tagging(json_t *root)
{
    static const struct ocv_descriptor ours = {
        .media_type = OCV_MEDIA_TYPE_MANIFEST,
        .digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000",
        .size = 5,
    };
    static const struct ocv_platform platform = {.os = "linux", .architecture = "amd64"};
    struct ocv_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    struct ocv_descriptor found;
    json_t *again = NULL;
    if (ocv_index_json_tag(root, "1", "x/y:1", &ours, &platform, NULL) == OCV_OK &&
        ocv_json_append(root, JSON_INDENT(2), &text, NULL) == OCV_OK) {
        if (ocv_index_json_load(text.data, text.len, &again, NULL) < 0 ||
            ocv_index_json_find(again, "1", &found, NULL) < 0 ||
            strcmp(found.digest, ours.digest) != 0 ||
            ocv_index_json_find(again, "x/y:1", &found, NULL) < 0 ||
            strcmp(found.digest, ours.digest) != 0)
            __builtin_trap();
    }
    json_decref(again);
    ocv_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {.status = OCV_OK};
    json_t *root = NULL;
    if (ocv_index_json_load(data, size, &root, &err) < 0)
        return 0;
    size_t seen = 0;
    struct ocv_descriptor found;
    (void)ocv_index_json_find(root, NULL, &found, &err);
    (void)ocv_index_json_find(root, "1", &found, &err);
    if (ocv_index_json_walk(root, visit, &seen) < 0)
        __builtin_trap();
    check_tagging(root);
    json_decref(root);
    return 0;
}
