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
static int set_map_piece(struct ocv_config *c, const char *key, const char *ns, const char *value,
                         const char *origin, struct ocv_error *err)
{
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

static int set_map(struct ocv_config *c, const char *key, const char *text, const char *origin,
                   struct ocv_error *err)
{
    struct ocv_span rest = {text, strlen(text)}, piece;
    while (ocv_span_split(&rest, ';', &piece)) {
        ocv_auto_free char *copy = piece_text(piece);
        if (!copy)
            return ocv_error_nomem(err);
        char *equals = strchr(copy, '=');
        if (*copy && !equals)
            return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not NAME=VALUE", copy);
        if (!equals)
            continue;
        *equals = '\0';
        OCV_TRY(set_map_piece(c, key, copy, equals + 1, origin, err));
    }
    return OCV_OK;
}

static int set_list(struct ocv_config *c, const char *key, const char *text, const char *origin,
                    struct ocv_error *err)
{
    struct ocv_span rest = {text, strlen(text)}, piece;
    while (ocv_span_split(&rest, ',', &piece)) {
        ocv_auto_free char *copy = piece_text(piece);
        if (!copy)
            return ocv_error_nomem(err);
        if (*copy)
            OCV_TRY(ocv_config_add(c, key, copy, origin, err));
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
    int status;
    if (shape == OCV_KEY_LIST)
        status = set_list(config, known, text, source, err);
    else if (shape == OCV_KEY_MAP)
        status = set_map(config, known, text, source, err);
    else if (shape == OCV_KEY_SCALAR) {
        OCV_TRY(ocv_config_check_scalar(known, source, text, err)); /* names the source */
        status = ocv_config_set_scalar(config, known, text, source, err);
    } else
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s can be set in a file only", known);
    if (status < 0)
        ocv_error_prefix(err, "%s", source);
    else
        config->by_text |= ocv_config_key_bit(known);
    return status;
}
