/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <string.h>

int ocv_json_load_document(const char *what, const void *bytes, size_t len, json_t **out,
                           struct ocv_error *err)
{
    return ocv_json_load_counted(what, bytes, len, OCV_MANIFEST_MAX, OCV_JSON_VALUES_MAX, out, err);
}

int ocv_json_descriptor(const json_t *object, const char *what, const char **media_type,
                        const char **digest, int64_t *size, struct ocv_error *err)
{
    if (!json_is_object(object))
        return ocv_error_set(err, OCV_ERR_DATA, "%s is not an object", what);
    OCV_TRY(ocv_json_string(object, what, "mediaType", media_type, err));
    OCV_TRY(ocv_json_string(object, what, "digest", digest, err));
    if (!*media_type)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has no mediaType", what);
    if (!*digest || !ocv_digest_wellformed(*digest) || strlen(*digest) >= OCV_DIGEST_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: malformed digest '%.100s'", what,
                             *digest ? *digest : "");
    const json_t *number = json_object_get(object, "size");
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: size is missing or not a whole number >= 0",
                             what);
    *size = json_integer_value(number);
    return OCV_OK;
}
