/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Any bytes as the configuration of an image. The part that is kept means the same as the whole,
 * and its versions are valid in tags. */
#include "lib/internal/content/image_config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_versions(const struct ocv_image_config *a, const struct ocv_image_config *b)
{
    struct ocv_image_version x, y;
    for (size_t i = 0; i < 64; i++) {
        bool there = ocv_image_config_version(a, i, &x);
        if (there != ocv_image_config_version(b, i, &y))
            abort();
        if (!there)
            return;
        if (strcmp(x.of, y.of) != 0 || strcmp(x.version, y.version) != 0 ||
            strcmp(x.source, y.source) != 0 ||
            strspn(x.version, "0123456789.") != strlen(x.version))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_image_config) config = NULL;
    ocv_auto(ocv_image_config) again = NULL;
    struct ocv_error err = {0};
    char first[128], second[128];
    const char *variable;
    if (ocv_image_config_parse(data, size, &config, &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    ocv_auto_buffer essence;
    ocv_buffer_init(&essence, OCV_IMAGE_CONFIG_MAX);
    int status = ocv_image_config_essence(config, &essence, NULL);
    if (status < 0) /* control characters are longer in JSON */
        return 0;
    if (ocv_image_config_parse(essence.data, essence.len, &again, NULL) < 0)
        abort();
    check_versions(config, again);
    bool placed = ocv_image_config_platform(config, first, sizeof(first));
    if (placed != ocv_image_config_platform(again, second, sizeof(second)) ||
        (placed && strcmp(first, second) != 0))
        abort();
    for (size_t i = 0; ocv_image_config_maker(config, i, &variable); i++)
        if (!strchr(variable, '='))
            abort();
    return 0;
}
