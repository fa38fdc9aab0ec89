/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Manifests, indexes and small blobs: documents that are kept in memory, within a limit, and are
 * checked against a digest before the caller sees them. */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* docker-registry 2.8 answers 404 for an OCI index whose type is not named. */
#define ACCEPT                                                                        \
    OCV_MEDIA_TYPE_INDEX ", " OCV_MEDIA_TYPE_DOCKER_LIST ", " OCV_MEDIA_TYPE_MANIFEST \
                         ", " OCV_MEDIA_TYPE_DOCKER_MANIFEST

/* What a request needs for its whole life. */
struct manifest_request {
    struct ocv_exchange exchange;
    char *path;
    char *what;
};

static void document_free(struct manifest_request *d)
{
    if (d->exchange.registry)
        ocv_exchange_free(&d->exchange);
    free(d->path);
    free(d->what);
}

static int document_init(struct manifest_request *d, struct ocv_registry *registry,
                         const struct ocv_reference *reference, const char *kind,
                         const char *object, struct ocv_error *err)
{
    bool by_digest = strchr(object, ':');
    *d = (struct manifest_request){0};
    int status = ocv_registry_host_get(registry, reference->host, &d->exchange.host, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", reference->name);
    if (asprintf(&d->path, "/v2/%s/%s/%s", reference->repository, kind, object) < 0)
        d->path = NULL;
    if (asprintf(&d->what, "%s%s%s", reference->name, by_digest ? "@" : ":", object) < 0)
        d->what = NULL;
    if (!d->path || !d->what)
        return ocv_error_nomem(err);
    d->exchange.registry = registry;
    d->exchange.what = d->what;
    d->exchange.path = d->path;
    d->exchange.repository = reference->repository;
    return OCV_OK;
}

/* What to ask for: a digest where there is one, else the tag. */
static int object_of(const struct ocv_reference *reference, const char *digest, const char **out,
                     struct ocv_error *err)
{
    const char *object = digest ? digest : reference->digest;
    if (object && !ocv_digest_known(object))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s@%s: unknown digest algorithm",
                             reference->name, object);
    *out = object ? object : reference->tag ? reference->tag : "latest";
    return OCV_OK;
}

static void fill_descriptor(struct ocv_descriptor *out, const char *type, const char *digest,
                            int64_t size)
{
    snprintf(out->media_type, sizeof(out->media_type), "%s", type);
    snprintf(out->digest, sizeof(out->digest), "%s", digest);
    out->size = size;
}

bool ocv_head_refused(const struct ocv_exchange *x, const struct ocv_error *err)
{
    bool rejected = x->login == OCV_LOGIN_USED && err->http_status == 401; /* not sent again */
    return err->http_status >= 400 && !rejected && err->status != OCV_ERR_INTERRUPTED &&
           err->status != OCV_ERR_NOMEM;
}

int ocv_registry_head(struct ocv_registry *registry, const struct ocv_reference *reference,
                      struct ocv_descriptor *out, struct ocv_error *err)
{
    struct manifest_request d = {0};
    struct ocv_error local = {0};
    const char *object = "";
    int status = object_of(reference, NULL, &object, &local);
    if (status == OCV_OK)
        status = document_init(&d, registry, reference, "manifests", object, &local);
    if (status == OCV_OK) {
        d.exchange.method = "HEAD";
        d.exchange.has_get = true;
        d.exchange.accept = ACCEPT;
        d.exchange.body_max = OCV_ERROR_BODY_MAX; /* no body: its length is the manifest's */
        status = ocv_exchange_run(&d.exchange, &local);
    }
    const struct ocv_response *r = &d.exchange.transfer.response;
    /* is the head enough to know what is there, and may it be true? */
    bool tells = r->content_type[0] && ocv_digest_known(r->digest) && r->content_length > 0 &&
                 !r->encoded && (!reference->digest || !strcmp(reference->digest, r->digest));
    bool ask = status == OCV_OK ? !tells : ocv_head_refused(&d.exchange, &local);
    if (status == OCV_OK && !ask)
        fill_descriptor(out, r->content_type, r->digest, r->content_length);
    document_free(&d);
    if (ask) {
        struct ocv_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        local = (struct ocv_error){0};
        status = ocv_registry_get(registry, reference, NULL, &body, out, &local);
        ocv_buffer_free(&body);
    }
    if (status < 0 && err)
        *err = local;
    return status;
}

/* Behind a string's first quote: the place behind its last one, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
    for (; p < end && *p != '"'; p++)
        if (*p == '\\' && ++p == end)
            return NULL;
    return p < end ? p + 1 : NULL;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    return p;
}

/* The member "mediaType" of a JSON object, empty if there is none. The document is not parsed here,
 * as it may not be JSON: its reader reports that. */
static size_t own_type(const char *p, const char *end, const char **out)
{
    static const char key[] = "mediaType\"";
    int depth = 0;
    while (p && p < end) {
        char c = *p++;
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (c != '"')
            continue;
        const char *text = p;
        p = skip_string(p, end);
        if (depth != 1 || !p || (size_t)(p - text) != sizeof(key) - 1 ||
            memcmp(text, key, sizeof(key) - 1) != 0)
            continue;
        p = skip_space(p, end);
        if (p == end || *p != ':') /* a value that reads so */
            continue;
        p = skip_space(p + 1, end);
        if (p == end || *p != '"')
            continue;
        *out = ++p;
        p = skip_string(p, end);
        return p ? (size_t)(p - *out) - 1 : 0;
    }
    return 0;
}

/* Some servers type every file as JSON, bytes or text: the document's own word is better then. */
static void type_of_body(const struct ocv_buffer *body, char *type, size_t size)
{
    const char *types[] = {OCV_MEDIA_TYPE_INDEX, OCV_MEDIA_TYPE_DOCKER_LIST,
                           OCV_MEDIA_TYPE_MANIFEST, OCV_MEDIA_TYPE_DOCKER_MANIFEST};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (!strcmp(type, types[i]))
            return;
    if (!body->len)
        return;
    char found[256];
    const char *own;
    size_t n = 0, len = own_type(body->data, body->data + body->len, &own);
    if (!len || len >= sizeof(found))
        return;
    for (size_t i = 0; i < len; i++) {
        if (own[i] == '\\' && own[++i] != '/') /* no type needs another escape */
            return;
        found[n++] = own[i];
    }
    found[n] = '\0';
    snprintf(type, size, "%s", found);
}

/* Run a GET, check what came, and hand over its body. */
static int fetch_document(struct manifest_request *d, const char *digest, struct ocv_buffer *body,
                          struct ocv_descriptor *out, struct ocv_error *err)
{
    const struct ocv_response *r = &d->exchange.transfer.response;
    struct ocv_buffer *got = &d->exchange.transfer.body;
    char own[OCV_DIGEST_MAX], type[sizeof(r->content_type)];
    d->exchange.method = "GET";
    OCV_TRY(ocv_exchange_run(&d->exchange, err));
    if (r->status == 206)
        return ocv_error_set(err, OCV_ERR_NETWORK,
                             "%s: a part was sent though the whole was requested", d->what);
    const char *bytes = got->data ? got->data : "";
    const char *wanted = digest ? digest : ocv_digest_known(r->digest) ? r->digest : NULL;
    int status = wanted ? ocv_digest_check(wanted, bytes, got->len, err)
                        : ocv_digest_bytes(bytes, got->len, own, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", d->what);
    snprintf(type, sizeof(type), "%s", r->content_type);
    type_of_body(got, type, sizeof(type));
    fill_descriptor(out, type, wanted ? wanted : own, (int64_t)got->len);
    size_t max = body->max;
    ocv_buffer_free(body);
    *body = *got;
    body->max = max;
    ocv_buffer_init(got, 0);
    return OCV_OK;
}

int ocv_registry_get(struct ocv_registry *registry, const struct ocv_reference *reference,
                     const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
                     struct ocv_error *err)
{
    struct manifest_request d = {0};
    struct ocv_error local = {0};
    const char *object = "";
    body->max = OCV_MANIFEST_MAX;
    int status = object_of(reference, digest, &object, &local);
    if (status == OCV_OK)
        status = document_init(&d, registry, reference, "manifests", object, &local);
    if (status == OCV_OK) {
        d.exchange.accept = ACCEPT;
        d.exchange.kind = "index";
        d.exchange.body_max = OCV_MANIFEST_MAX;
        status = fetch_document(&d, strchr(object, ':') ? object : NULL, body, out, &local);
    }
    if (status == OCV_OK && !body->len) /* HTTP 204, too */
        status = ocv_error_set(&local, OCV_ERR_DATA, "%s: an empty manifest", d.what);
    document_free(&d);
    if (status < 0 && err)
        *err = local;
    return status;
}

int ocv_registry_get_blob(struct ocv_registry *registry, const struct ocv_reference *reference,
                          const struct ocv_descriptor *descriptor, struct ocv_buffer *body,
                          struct ocv_error *err)
{
    struct manifest_request d = {0};
    struct ocv_descriptor got = {0};
    struct ocv_error local = {0};
    const char *object = "";
    int status = object_of(reference, descriptor->digest, &object, &local);
    if (status == OCV_OK && descriptor->size > (int64_t)body->max)
        status = ocv_error_set(&local, OCV_ERR_DATA, "%s@%s: %lld bytes, at most %zu are read",
                               reference->name, object, (long long)descriptor->size, body->max);
    if (status == OCV_OK)
        status = document_init(&d, registry, reference, "blobs", object, &local);
    if (status == OCV_OK) {
        d.exchange.kind = "blob";
        d.exchange.body_max = body->max;
        status = fetch_document(&d, object, body, &got, &local);
        if (status == OCV_OK && descriptor->size >= 0 && got.size != descriptor->size)
            status = ocv_error_set(&local, OCV_ERR_MISMATCH, "%s: %lld bytes instead of %lld",
                                   d.what, (long long)got.size, (long long)descriptor->size);
    }
    document_free(&d);
    if (status < 0 && err)
        *err = local;
    return status;
}
