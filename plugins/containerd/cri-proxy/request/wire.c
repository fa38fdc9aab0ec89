/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/registry/auth/credentials.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include "lib/base/cleanup.h"
#include "lib/internal/grpc/grpc.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_IMAGE 1u
#define FIELD_AUTH 2u
#define AUTH_TEXTS 6u

bool wire_find_image(const uint8_t *message, size_t len, struct wire_image *out)
{
    struct grpc_field spec, field;
    size_t pos = 0;
    bool found = false;
    int more;
    for (unsigned n = 0; (more = grpc_field_next(message, len, &pos, &spec)) == 1; n++) {
        if (n == WIRE_FIELDS_MAX)
            return false;
        if (spec.number != FIELD_IMAGE || spec.type != GRPC_BYTES)
            continue;
        /* The last field `image` of the ImageSpec. */
        size_t at = 0;
        for (unsigned k = 0;
             (more = grpc_field_next(message + spec.at, spec.len, &at, &field)) == 1; k++) {
            if (k == WIRE_FIELDS_MAX)
                return false;
            if (field.number != FIELD_IMAGE || field.type != GRPC_BYTES)
                continue;
            *out = (struct wire_image){
                .outer = spec.start,
                .outer_at = spec.at,
                .outer_len = spec.len,
                .inner = spec.at + field.start,
                .inner_at = spec.at + field.at,
                .inner_len = field.len,
            };
            found = true;
        }
        if (more < 0)
            return false;
    }
    return more == 0 && found;
}

/* Write a tag (field 1, bytes) and a length. */
static size_t put_head(uint8_t out[GRPC_VARINT_MAX + 1], uint64_t len)
{
    out[0] = FIELD_IMAGE << 3 | GRPC_BYTES;
    return 1 + grpc_put_varint(out + 1, len);
}

int wire_replace_image(const uint8_t *message, size_t len, const struct wire_image *image,
                       const char *text, struct ocv_buffer *out, struct ocv_error *err)
{
    uint8_t outer[GRPC_VARINT_MAX + 1], inner[GRPC_VARINT_MAX + 1];
    size_t n = strlen(text), inner_end = image->inner_at + image->inner_len;
    size_t inner_head = put_head(inner, n);
    size_t outer_len = image->outer_len - (inner_end - image->inner) + inner_head + n;
    const struct {
        const void *bytes;
        size_t len;
    } parts[] = {
        {message, image->outer},
        {outer, put_head(outer, outer_len)},
        {message + image->outer_at, image->inner - image->outer_at},
        {inner, inner_head},
        {text, n},
        {message + inner_end, len - inner_end},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        OCV_TRY(ocv_buffer_append(out, parts[i].bytes, parts[i].len, err));
    return OCV_OK;
}

void wire_auth_free(struct wire_auth *auth)
{
    ocv_secret_free(auth->username);
    ocv_secret_free(auth->password);
    ocv_secret_free(auth->auth);
    ocv_secret_free(auth->server_address);
    ocv_secret_free(auth->identity_token);
    ocv_secret_free(auth->registry_token);
    *auth = (struct wire_auth){0};
}

static int read_texts(const uint8_t *bytes, size_t len, struct wire_auth *out,
                      struct ocv_error *err)
{
    char **const texts[AUTH_TEXTS] = {&out->username,       &out->password,
                                      &out->auth,           &out->server_address,
                                      &out->identity_token, &out->registry_token};
    struct grpc_field field;
    size_t pos = 0;
    int more;
    for (unsigned n = 0; (more = grpc_field_next(bytes, len, &pos, &field)) == 1; n++) {
        if (n == WIRE_FIELDS_MAX)
            break;
        if (field.number > AUTH_TEXTS || field.type != GRPC_BYTES)
            continue;
        char **text = texts[field.number - 1];
        ocv_secret_free(*text);
        *text = NULL;
        if (!field.len)
            continue;
        if (memchr(bytes + field.at, 0, field.len))
            return ocv_error_set(err, OCV_ERR_DATA, "credentials with a NUL in them");
        *text = strndup((const char *)bytes + field.at, field.len);
        if (!*text)
            return ocv_error_nomem(err);
    }
    return more == 0 ? OCV_OK : ocv_error_set(err, OCV_ERR_DATA, "malformed credentials");
}

int wire_read_auth(const uint8_t *message, size_t len, struct wire_auth *out, struct ocv_error *err)
{
    struct grpc_field field;
    size_t pos = 0;
    int more, status = OCV_OK;
    *out = (struct wire_auth){0};
    for (unsigned n = 0;
         status == OCV_OK && (more = grpc_field_next(message, len, &pos, &field)) != 0; n++) {
        if (more < 0 || n == WIRE_FIELDS_MAX)
            status = ocv_error_set(err, OCV_ERR_DATA, "malformed request");
        else if (field.number == FIELD_AUTH && field.type == GRPC_BYTES)
            status = read_texts(message + field.at, field.len, out, err);
    }
    if (status < 0)
        wire_auth_free(out);
    return status;
}
