/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <stdio.h>
#include <string.h>

int ocv_image_user_of(const json_t *config, char out[OCV_IMAGE_USER_MAX], struct ocv_error *err)
{
    const char *user = NULL;
    const json_t *inner = json_object_get(config, "config");
    if (json_is_object(inner))
        OCV_TRY(ocv_json_string(inner, "image config", "User", &user, err));
    size_t n = user ? strcspn(user, ":") : 0;
    if (n >= OCV_IMAGE_USER_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "image config: a user of %zu bytes", n);
    bool zero = n > 0 && strspn(user, "0") == n;
    snprintf(out, OCV_IMAGE_USER_MAX, "%.*s", n && !zero ? (int)n : 4, n && !zero ? user : "root");
    return OCV_OK;
}

int ocv_image_user(const void *config, size_t len, char out[OCV_IMAGE_USER_MAX],
                   struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load_counted("image config", config, len, OCV_IMAGE_USER_CONFIG_MAX,
                                  OCV_JSON_VALUES_MAX, &root, err));
    return ocv_image_user_of(root, out, err);
}
