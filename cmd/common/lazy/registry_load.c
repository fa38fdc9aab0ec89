/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/lazy/registry_load.h"
#include "lib/base/cleanup.h"
#include "ocivariant/registry.h"
#include "ocivariant/signature.h"

#include <dlfcn.h>

/* Every function of the library that programs call. */
#define CALLS(X)                     \
    X(ocv_registry_new)              \
    X(ocv_registry_free)             \
    X(ocv_registry_share)            \
    X(ocv_downloads_new)             \
    X(ocv_downloads_free)            \
    X(ocv_registry_deadline)         \
    X(ocv_registry_head)             \
    X(ocv_registry_get)              \
    X(ocv_registry_get_blob)         \
    X(ocv_registry_fetch)            \
    X(ocv_registry_stream)           \
    X(ocv_registry_tags)             \
    X(ocv_registry_referrers)        \
    X(ocv_registry_verify)           \
    X(ocv_signature_keys_new)        \
    X(ocv_signature_keys_free)       \
    X(ocv_signature_keys_have)       \
    X(ocv_registry_put)              \
    X(ocv_registry_has_blob)         \
    X(ocv_registry_push)             \
    X(ocv_registry_credentials)      \
    X(ocv_credential_providers_new)  \
    X(ocv_credential_providers_free) \
    X(ocv_engine_http)

#define POINTER(name) __typeof__(name) *(name);
#define SYMBOL(name) {#name, (void **)&calls.name},

static struct {
    void *library;
    CALLS(POINTER)
} calls;

int registry_load(struct ocv_error *err)
{
    static const struct {
        const char *name;
        void **at;
    } symbols[] = {CALLS(SYMBOL)};
    if (calls.library)
        return OCV_OK;
    void *library = dlopen("libocivariant-registry.so." OCV_ABI, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "cannot load the registry client: %s",
                             dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (!(*symbols[i].at = dlsym(library, symbols[i].name)))
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                                 "the registry client library is too old");
    calls.library = library;
    return OCV_OK;
}

int ocv_registry_new(const struct ocv_registry_options *options, struct ocv_registry **out,
                     struct ocv_error *err)
{
    OCV_TRY(registry_load(err));
    return calls.ocv_registry_new(options, out, err);
}

int ocv_credential_providers_new(const struct ocv_credential_providers_options *options,
                                 struct ocv_credential_providers **out, struct ocv_error *err)
{
    OCV_TRY(registry_load(err));
    return calls.ocv_credential_providers_new(options, out, err);
}

void ocv_credential_providers_free(struct ocv_credential_providers *providers)
{
    if (providers)
        calls.ocv_credential_providers_free(providers);
}

int ocv_engine_http(const struct ocv_engine_request *request, long *http, struct ocv_error *err)
{
    OCV_TRY(registry_load(err));
    return calls.ocv_engine_http(request, http, err);
}

int ocv_downloads_new(unsigned at_once, struct ocv_downloads **out, struct ocv_error *err)
{
    OCV_TRY(registry_load(err));
    return calls.ocv_downloads_new(at_once, out, err);
}

void ocv_downloads_free(struct ocv_downloads *downloads)
{
    if (downloads)
        calls.ocv_downloads_free(downloads);
}

void ocv_registry_share(struct ocv_registry *registry, struct ocv_downloads *downloads)
{
    calls.ocv_registry_share(registry, downloads);
}

void ocv_registry_free(struct ocv_registry *registry)
{
    if (registry)
        calls.ocv_registry_free(registry);
}

void ocv_registry_deadline(struct ocv_registry *registry, unsigned timeout_ms)
{
    calls.ocv_registry_deadline(registry, timeout_ms);
}

int ocv_registry_head(struct ocv_registry *registry, const struct ocv_reference *reference,
                      struct ocv_descriptor *out, struct ocv_error *err)
{
    return calls.ocv_registry_head(registry, reference, out, err);
}

int ocv_registry_get(struct ocv_registry *registry, const struct ocv_reference *reference,
                     const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
                     struct ocv_error *err)
{
    return calls.ocv_registry_get(registry, reference, digest, body, out, err);
}

int ocv_registry_get_blob(struct ocv_registry *registry, const struct ocv_reference *reference,
                          const struct ocv_descriptor *descriptor, struct ocv_buffer *body,
                          struct ocv_error *err)
{
    return calls.ocv_registry_get_blob(registry, reference, descriptor, body, err);
}

int ocv_registry_fetch(struct ocv_registry *registry, const struct ocv_reference *reference,
                       struct ocv_layout *layout, const struct ocv_fetch *fetches, size_t n,
                       unsigned jobs, ocv_fetch_progress progress, void *data,
                       struct ocv_error *err)
{
    return calls.ocv_registry_fetch(registry, reference, layout, fetches, n, jobs, progress, data,
                                    err);
}

int ocv_registry_stream(struct ocv_registry *registry, const struct ocv_stream *stream,
                        struct ocv_error *err)
{
    return calls.ocv_registry_stream(registry, stream, err);
}

int ocv_registry_tags(struct ocv_registry *registry, const struct ocv_reference *reference,
                      int (*visit)(void *data, const char *tag), void *data, struct ocv_error *err)
{
    return calls.ocv_registry_tags(registry, reference, visit, data, err);
}

int ocv_registry_referrers(struct ocv_registry *registry, const struct ocv_reference *reference,
                           const char *digest, const char *artifact_type, struct ocv_buffer *list,
                           bool *api, struct ocv_error *err)
{
    return calls.ocv_registry_referrers(registry, reference, digest, artifact_type, list, api, err);
}

int ocv_registry_verify(struct ocv_registry *registry, const struct ocv_reference *reference,
                        const struct ocv_signature_keys *keys,
                        const struct ocv_signature_subject *subject, struct ocv_signature *out,
                        struct ocv_error *err)
{
    return calls.ocv_registry_verify(registry, reference, keys, subject, out, err);
}

int ocv_signature_keys_new(const char *const *files, size_t n, struct ocv_signature_keys **out,
                           struct ocv_error *err)
{
    OCV_TRY(registry_load(err));
    return calls.ocv_signature_keys_new(files, n, out, err);
}

void ocv_signature_keys_free(struct ocv_signature_keys *keys)
{
    if (keys)
        calls.ocv_signature_keys_free(keys);
}

bool ocv_signature_keys_have(const struct ocv_signature_keys *keys, const char *digest)
{
    return keys && calls.ocv_signature_keys_have(keys, digest);
}

int ocv_registry_put(struct ocv_registry *registry, const struct ocv_reference *reference,
                     const char *media_type, const void *bytes, size_t len, const char *if_match,
                     struct ocv_descriptor *out, struct ocv_error *err)
{
    return calls.ocv_registry_put(registry, reference, media_type, bytes, len, if_match, out, err);
}

int ocv_registry_has_blob(struct ocv_registry *registry, const struct ocv_reference *reference,
                          const char *digest, int64_t size, struct ocv_error *err)
{
    return calls.ocv_registry_has_blob(registry, reference, digest, size, err);
}

int ocv_registry_push(struct ocv_registry *registry, const struct ocv_reference *reference,
                      const struct ocv_push *push, enum ocv_pushed *how, struct ocv_error *err)
{
    return calls.ocv_registry_push(registry, reference, push, how, err);
}

int ocv_registry_credentials(struct ocv_registry *registry, const char *host,
                             struct ocv_buffer *json, struct ocv_error *err)
{
    return calls.ocv_registry_credentials(registry, host, json, err);
}
