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

/* NS=A,B;NS=C: one map member. */
static int set_map_piece(struct ocv_config *c, const char *key, const char *ns, const char *value,
                         const char *origin, struct ocv_error *err)
{
    if (!strcmp(key, "device_policy"))
        return ocv_config_add_policy(c, ns, value, origin, err);
    if (!strcmp(key, "devices")) {
        int status = ocv_config_add_device(c, ns, NULL, origin, err);
        struct ocv_span rest = ocv_span_trim((struct ocv_span){value, strlen(value)}), piece;
        while (status == OCV_OK && rest.len && ocv_span_split(&rest, ',', &piece)) {
            char *text = piece_text(piece);
            status = text ? ocv_config_add_device(c, ns, text, origin, err) : ocv_error_nomem(err);
            free(text);
        }
        return status;
    }
    struct ocv_span parts[2], rest = {value, strlen(value)}, piece;
    if (ocv_span_parts((struct ocv_span){ns, strlen(ns)}, parts, 2) != 2)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not NS::FEATURE", ns);
    char *name = piece_text(parts[0]), *feature = piece_text(parts[1]);
    int status = name && feature ? ocv_config_add_override(c, name, feature, NULL, origin, err)
                                 : ocv_error_nomem(err);
    rest = ocv_span_trim(rest); /* nothing after "=": an empty list, "not supported" */
    while (status == OCV_OK && rest.len && ocv_span_split(&rest, ',', &piece)) {
        char *text = piece_text(piece);
        status = text ? ocv_config_add_override(c, name, feature, text, origin, err)
                      : ocv_error_nomem(err);
        free(text);
    }
    free(name);
    free(feature);
    return status;
}

static int set_map(struct ocv_config *c, const char *key, const char *text, const char *origin,
                   struct ocv_error *err)
{
    struct ocv_span rest = {text, strlen(text)}, piece;
    int status = OCV_OK;
    while (status == OCV_OK && ocv_span_split(&rest, ';', &piece)) {
        char *copy = piece_text(piece);
        char *equals = copy ? strchr(copy, '=') : NULL;
        if (equals) {
            *equals = '\0';
            status = set_map_piece(c, key, copy, equals + 1, origin, err);
        } else if (!copy) {
            status = ocv_error_nomem(err);
        } else if (*copy) {
            status = ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not NAME=VALUE", copy);
        }
        free(copy);
    }
    return status;
}

static int set_list(struct ocv_config *c, const char *key, const char *text, const char *origin,
                    struct ocv_error *err)
{
    struct ocv_span rest = {text, strlen(text)}, piece;
    int status = OCV_OK;
    while (status == OCV_OK && ocv_span_split(&rest, ',', &piece)) {
        char *copy = piece_text(piece);
        if (!copy)
            status = ocv_error_nomem(err);
        else if (*copy)
            status = ocv_config_add(c, key, copy, origin, err);
        free(copy);
    }
    return status;
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
