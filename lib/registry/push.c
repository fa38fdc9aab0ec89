/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Writing: manifests by PUT, blobs by mount or by one PUT into an upload session
 * (distribution-spec, "Push"). Nothing is written under a tag before everything it names is there;
 * that order is the caller's. */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UPLOAD_TRIES 3u

/* One request of a push with the texts it borrows. */
struct push_request {
    struct ocv_exchange exchange;
    struct ocv_upload upload;
    char *path, *what;
};

static void step_free(struct push_request *s)
{
    if (s->exchange.registry)
        ocv_exchange_free(&s->exchange);
    free(s->path);
    free(s->what);
}
#define auto_step __attribute__((cleanup(step_free))) struct push_request

/* `path` is taken over. */
static int step_init(struct push_request *s, struct ocv_registry *registry,
                     const struct ocv_reference *reference, const char *method, char *path,
                     const char *object, struct ocv_error *err)
{
    *s = (struct push_request){.path = path, .upload = {.fd = -1}};
    int status = ocv_registry_host_get(registry, reference->host, &s->exchange.host, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", reference->name);
    if (asprintf(&s->what, "%s%s%s", reference->name, strchr(object, ':') ? "@" : ":", object) < 0)
        s->what = NULL;
    if (!s->path || !s->what)
        return ocv_error_nomem(err);
    s->exchange.registry = registry;
    s->exchange.what = s->what;
    s->exchange.path = s->path;
    s->exchange.method = method;
    s->exchange.repository = reference->repository;
    s->exchange.body_max = OCV_ERROR_BODY_MAX;
    s->upload.content_type = "application/octet-stream";
    return OCV_OK;
}

static char *path_of(const struct ocv_reference *reference, const char *kind, const char *object)
{
    char *path = NULL;
    return asprintf(&path, "/v2/%s/%s/%s", reference->repository, kind, object) < 0 ? NULL : path;
}

/* A registry that names another digest of the same algorithm did not store what was sent. */
static int check_stored(const struct push_request *s, const char *digest, struct ocv_error *err)
{
    const char *told = s->exchange.transfer.response.digest;
    if (!ocv_digest_known(told) || strncmp(told, digest, strcspn(digest, ":")) != 0 ||
        !strcmp(told, digest))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: the registry stored %s instead of %s", s->what,
                         told, digest);
}

int ocv_registry_put(struct ocv_registry *registry, const struct ocv_reference *reference,
                     const char *media_type, const void *bytes, size_t len, const char *if_match,
                     struct ocv_descriptor *out, struct ocv_error *err)
{
    const char *object = reference->tag ? reference->tag : reference->digest;
    struct ocv_descriptor own = {.size = (int64_t)len};
    char quoted[OCV_DIGEST_MAX + 2];
    auto_step s = {0};
    snprintf(own.media_type, sizeof(own.media_type), "%s", media_type);
    OCV_TRY(ocv_digest_bytes(bytes, len, own.digest, err));
    if (!object)
        object = own.digest;
    if (reference->digest)
        OCV_TRY(ocv_digest_check(reference->digest, bytes, len, err));
    OCV_TRY(step_init(&s, registry, reference, "PUT", path_of(reference, "manifests", object),
                      object, err));
    s.upload.content_type = media_type;
    s.upload.bytes = bytes;
    s.upload.size = (int64_t)len;
    s.exchange.upload = &s.upload;
    if (if_match) {
        snprintf(quoted, sizeof(quoted), "\"%s\"", if_match);
        s.exchange.if_match = quoted;
    }
    OCV_TRY(ocv_exchange_run(&s.exchange, err));
    OCV_TRY(check_stored(&s, own.digest, err));
    if (out)
        *out = own;
    return OCV_OK;
}

int ocv_registry_has_blob(struct ocv_registry *registry, const struct ocv_reference *reference,
                          const char *digest, int64_t size, struct ocv_error *err)
{
    struct ocv_error local = {0};
    auto_step s = {0};
    int status = step_init(&s, registry, reference, "HEAD", path_of(reference, "blobs", digest),
                           digest, &local);
    if (status == OCV_OK)
        status = ocv_exchange_run(&s.exchange, &local);
    int64_t length = s.exchange.transfer.response.content_length;
    if (status == OCV_OK && size >= 0 && length >= 0 && length != size)
        status = ocv_error_set(&local, OCV_ERR_MISMATCH, "%s: has %lld bytes instead of %lld",
                               s.what, (long long)length, (long long)size);
    if (status == OCV_OK)
        return 1;
    if (local.http_status == 404)
        return 0;
    if (err)
        *err = local;
    return status;
}

/* Begin an upload, or have the blob mounted: `*session` is NULL then, else a path from the
 * registry's own prefix on, with its query, and the digest. */
static int begin_upload(struct ocv_registry *registry, const struct ocv_reference *reference,
                        const struct ocv_push *push, char **session, struct ocv_error *err)
{
    const char *digest = push->descriptor.digest;
    char here[OCV_ORIGIN_MAX], there[OCV_ORIGIN_MAX];
    auto_step s = {0};
    const struct ocv_exchange *x = &s.exchange;
    char *path = NULL;
    int n = push->from ? asprintf(&path, "/v2/%s/blobs/uploads/?mount=%s&from=%s",
                                  reference->repository, digest, push->from)
                       : asprintf(&path, "/v2/%s/blobs/uploads/", reference->repository);
    *session = NULL;
    OCV_TRY(step_init(&s, registry, reference, "POST", n < 0 ? NULL : path, digest, err));
    s.exchange.upload = &s.upload; /* an empty body */
    OCV_TRY(ocv_exchange_run(&s.exchange, err));
    if (x->transfer.response.status == 201)
        return OCV_OK;
    /* A Location may be absolute; it must stay on the registry that was asked, where the token is
     * for. */
    const char *location = x->transfer.response.location;
    if (!location)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: no Location for the upload", s.what);
    if (location[0] != '/') {
        if (ocv_exchange_origin(x, here) < 0 || ocv_url_origin(location, there, NULL) < 0 ||
            strcmp(here, there) != 0)
            return ocv_error_set(err, OCV_ERR_NETWORK,
                                 "%s: the registry redirects the upload to another server", s.what);
        location = strchr(strstr(location, "://") + 3, '/');
    }
    size_t prefix = strlen(x->host->prefix);
    if (location && prefix && !strncmp(location, x->host->prefix, prefix))
        location += prefix;
    if (!location)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: a Location without a path for the upload",
                             s.what);
    if (asprintf(session, "%s%cdigest=%s", location, strchr(location, '?') ? '&' : '?', digest) < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

/* `path` is taken over. */
static int send_blob(struct ocv_registry *registry, const struct ocv_reference *reference,
                     const struct ocv_push *push, char *path, struct ocv_error *err)
{
    auto_step s = {0};
    OCV_TRY(step_init(&s, registry, reference, "PUT", path, push->descriptor.digest, err));
    s.upload.bytes = push->bytes;
    s.upload.fd = push->bytes ? -1 : push->fd;
    s.upload.size = push->descriptor.size;
    s.upload.progress = push->progress;
    s.upload.data = push->data;
    s.exchange.upload = &s.upload;
    s.exchange.once = true; /* a broken session is not the same any more */
    OCV_TRY(ocv_exchange_run(&s.exchange, err));
    return check_stored(&s, push->descriptor.digest, err);
}

int ocv_registry_push(struct ocv_registry *registry, const struct ocv_reference *reference,
                      const struct ocv_push *push, enum ocv_pushed *how, struct ocv_error *err)
{
    const struct ocv_descriptor *d = &push->descriptor;
    struct ocv_error local = {0};
    int status = ocv_registry_has_blob(registry, reference, d->digest, d->size, &local);
    *how = OCV_PUSHED_PRESENT;
    if (status == 1)
        return OCV_OK;
    for (unsigned tried = 1; status == 0; tried++) {
        char *session = NULL;
        *how = OCV_PUSHED_MOUNTED;
        status = begin_upload(registry, reference, push, &session, &local);
        if (status < 0 || !session)
            break;
        *how = OCV_PUSHED_SENT;
        if (!push->bytes && push->fd < 0) {
            status =
                ocv_error_set(&local, OCV_ERR_NOT_FOUND,
                              "%s@%s: cannot be mounted from %s, and its bytes are not here",
                              reference->name, d->digest, push->from ? push->from : "anywhere");
            free(session);
            break;
        }
        status = send_blob(registry, reference, push, session, &local);
        if (status == OCV_OK)
            break;
        int code = local.http_status;
        bool passes = code == 0 || code == 404 || code == 416 || code == 429 || code >= 500;
        if (tried < UPLOAD_TRIES && local.status == OCV_ERR_NETWORK && passes)
            status = 0; /* from its start, in another session */
    }
    if (status < 0 && err)
        *err = local;
    return status;
}
