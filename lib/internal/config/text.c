/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Configuration from text, as environment variables and flags give it: lists are A,B; maps are
 * NS=A,B;NS=C. */
#include "lib/base/cleanup.h"
#include "lib/internal/config/config_internal.h"

#include "lib/base/format/span.h"

#include <stdlib.h>
#include <string.h>

static char *piece_text(struct ocv_span piece)
{
    return strndup(piece.data, piece.len);
}

/* NS=A,B;NS=C: one map member. Nothing after "=" is an empty list, which is a setting, too. */
static int set_map_piece(struct ocv_config *c, const char *key, char *ns, const char *origin,
                         struct ocv_error *err)
{
    char *equals = strchr(ns, '=');
    if (!equals)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not NAME=VALUE", ns);
    *equals = '\0';
    const char *value = equals + 1;
    struct ocv_span rest = ocv_span_trim((struct ocv_span){value, strlen(value)}), piece, parts[2];
    if (!strcmp(key, "device_policy"))
        return ocv_config_add_policy(c, ns, value, origin, err);
    if (!strcmp(key, "devices")) {
        OCV_TRY(ocv_config_add_device(c, ns, NULL, origin, err));
        while (rest.len && ocv_span_split(&rest, ',', &piece)) {
            ocv_auto_free char *text = piece_text(piece);
            OCV_TRY(text ? ocv_config_add_device(c, ns, text, origin, err) : ocv_error_nomem(err));
        }
        return OCV_OK;
    }
    if (ocv_span_parts((struct ocv_span){ns, strlen(ns)}, parts, 2) != 2)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not NS::FEATURE", ns);
    ocv_auto_free char *name = piece_text(parts[0]);
    ocv_auto_free char *feature = piece_text(parts[1]);
    if (!name || !feature)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_config_add_override(c, name, feature, NULL, origin, err));
    while (rest.len && ocv_span_split(&rest, ',', &piece)) {
        ocv_auto_free char *text = piece_text(piece);
        OCV_TRY(text ? ocv_config_add_override(c, name, feature, text, origin, err)
                     : ocv_error_nomem(err));
    }
    return OCV_OK;
}

int ocv_config_set(struct ocv_config *config, const char *source, const char *key, const char *text,
                   bool append, struct ocv_error *err)
{
    const char *known = ocv_config_key(key);
    if (!known)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: unknown key '%.60s'", source, key);
    enum ocv_key_shape shape = ocv_config_shape(known);
    if (!append)
        ocv_config_clear(config, known);
    struct ocv_span rest = {text, strlen(text)}, piece;
    bool list = shape == OCV_KEY_LIST;
    int status = OCV_OK;
    if (shape == OCV_KEY_SCALAR) {
        OCV_TRY(ocv_config_check_scalar(known, source, text, err)); /* names the source */
        status = ocv_config_set_scalar(config, known, text, source, err);
    } else if (shape == OCV_KEY_FILE_ONLY)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s can be set in a file only", known);
    else
        while (status == OCV_OK && ocv_span_split(&rest, list ? ',' : ';', &piece)) {
            ocv_auto_free char *copy = piece_text(piece);
            if (!copy)
                status = ocv_error_nomem(err);
            else if (*copy)
                status = list ? ocv_config_add(config, known, copy, source, err)
                              : set_map_piece(config, known, copy, source, err);
        }
    if (status < 0)
        ocv_error_prefix(err, "%s", source);
    else
        config->by_text |= ocv_config_key_bit(known);
    return status;
}
