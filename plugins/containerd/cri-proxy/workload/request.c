/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/internal/grpc/grpc.h"

#include <string.h>

#define FIELD_IMAGE 1u
#define FIELD_SANDBOX 3u
#define FIELD_ANNOTATIONS 2u /* of ImageSpec */
#define FIELD_METADATA 1u    /* of PodSandboxConfig */

#define CONFIG "kubernetes.io/config."

const char *const workload_wish_names[WORKLOAD_WISHES] = {"require", "disable", "label", "devices"};

static struct request_text text_of(const uint8_t *bytes, const struct grpc_field *field)
{
    return (struct request_text){(const char *)bytes + field->at, field->len};
}

static bool is_text(struct request_text text, const char *prefix, const char *name)
{
    size_t n = strlen(prefix), m = strlen(name);
    return text.at && text.len == n + m && memcmp(text.at, prefix, n) == 0 &&
           memcmp(text.at + n, name, m) == 0;
}

/* One pair of the map. False, here and below: malformed. */
static bool read_annotation(struct workload_request *out, const uint8_t *bytes, size_t len)
{
    struct request_text pair[2] = {{"", 0}, {"", 0}};
    struct grpc_field part;
    size_t pos = 0, own = sizeof(WORKLOAD_PREFIX) - 1, wish = 0;
    int more;
    for (unsigned n = 0; (more = grpc_field_next(bytes, len, &pos, &part)) == 1; n++) {
        if (n == WIRE_FIELDS_MAX)
            return false;
        if (part.type == GRPC_BYTES && (part.number == 1 || part.number == 2))
            pair[part.number - 1] = text_of(bytes, &part);
    }
    const struct request_text key = pair[0], value = pair[1];
    out->annotated = true;
    while (wish < WORKLOAD_WISHES && !is_text(key, WORKLOAD_PREFIX, workload_wish_names[wish]))
        wish++;
    if (wish < WORKLOAD_WISHES)
        out->wishes[wish] = value;
    else if (key.len > own && memcmp(key.at, WORKLOAD_PREFIX, own) == 0 && !out->unknown.at)
        out->unknown = key;
    else if (is_text(key, CONFIG, "seen"))
        out->seen = value;
    else if (is_text(key, CONFIG, "hash"))
        out->hash = value;
    else if (is_text(key, CONFIG, "source"))
        out->source = value;
    return more == 0;
}

enum message { REQUEST, IMAGE, SANDBOX, METADATA };

static bool read_message(struct workload_request *out, enum message which, const uint8_t *bytes,
                         size_t len)
{
    struct request_text *const texts[] = {&out->pod_name, &out->uid, &out->name_space};
    struct grpc_field field;
    size_t pos = 0;
    int more;
    for (unsigned n = 0; (more = grpc_field_next(bytes, len, &pos, &field)) == 1; n++) {
        if (n == WIRE_FIELDS_MAX)
            return false;
        if (field.type != GRPC_BYTES)
            continue;
        const uint8_t *inner = bytes + field.at;
        bool sound = true;
        if (which == REQUEST && field.number == FIELD_IMAGE)
            sound = read_message(out, IMAGE, inner, field.len);
        else if (which == REQUEST && field.number == FIELD_SANDBOX)
            sound = read_message(out, SANDBOX, inner, field.len);
        else if (which == IMAGE && field.number == FIELD_ANNOTATIONS)
            sound = read_annotation(out, inner, field.len);
        else if (which == SANDBOX && field.number == FIELD_METADATA)
            sound = read_message(out, METADATA, inner, field.len);
        else if (which == METADATA && field.number <= sizeof(texts) / sizeof(*texts))
            *texts[field.number - 1] = text_of(bytes, &field);
        if (!sound)
            return false;
    }
    return more == 0;
}

bool workload_request_read(const uint8_t *message, size_t len, struct workload_request *out)
{
    *out = (struct workload_request){0};
    return read_message(out, REQUEST, message, len);
}

bool request_copy(struct request_text text, char *out, size_t size)
{
    if (!text.at || !text.len || text.len >= size || memchr(text.at, 0, text.len))
        return false;
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return true;
}
