/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kubelet's runtime answers about its images, as cri-images reads it. The first byte: a list
 * of images, or the status of one. */
#define main cri_images_main
#include "plugins/cri-images/cri-images.c"
#undef main

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto_json *images = NULL;
    json_t *image, *text;
    size_t i, k;
    if (!size)
        return 0;
    if (data[0] & 1) {
        ocv_auto_json *one = json_pack("{s:s}", "Id", "sha256:00");
        (void)!add_config(one, data + 1, size - 1, NULL);
        check(json_object_size(one) == 1 || json_is_object(json_object_get(one, "Config")));
        return 0;
    }
    if (list_json(data + 1, size - 1, &images, NULL) < 0)
        return 0;
    json_array_foreach(images, i, image)
    {
        check(json_is_string(json_object_get(image, "Id")));
        json_array_foreach(json_object_get(image, "RepoTags"), k, text)
        {
            check(json_is_string(text));
        }
        check(json_is_array(json_object_get(image, "RepoDigests")));
    }
    return 0;
}
